// Futures inside of other things.
// OUT: 1 2 3 4 5 6
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

struct request {
  int id;
  std::promise<int> reply;
};

struct pending {
  std::future<int> first, second;
};

std::pair<std::promise<int>, std::future<int>> channel() {
  std::promise<int> promise;
  auto future = promise.get_future();
  return {std::move(promise), std::move(future)};
}

int main() {
  std::map<std::string, std::promise<int>> by_name;
  auto one = by_name["one"].get_future();
  by_name.at("one").set_value(1);
  auto owned = std::make_unique<std::promise<int>>();
  std::optional<std::future<int>> two = owned->get_future();
  owned->set_value(2);
  std::vector<request> requests;
  requests.push_back({3, std::promise<int>()});
  auto three = requests.back().reply.get_future();
  for (auto& [id, reply] : requests) reply.set_value(id);
  pending both{std::async([] { return 4; }), std::async([] { return 5; })};
  auto [promise, future] = channel();
  promise.set_value(6);
  std::function<std::future<int>()> forward = [&] { return std::move(both.second); };
  std::cout << one.get() << " " << two->get() << " " << three.get() << " " << both.first.get() << " "
            << forward().get() << " " << future.get() << "\n";
}
