// Deferred calls stay, and what takes their futures with them; the rest migrates.
// OUT: same thread: 1
// OUT: 2 3 4
#include <future>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

int take(std::future<int> value) { return value.get(); }  // NOTE: goes with

std::future<int> lazily(int n) {  // NOTE: goes with
  return std::async(std::launch::deferred, [n] { return n; });  // NOTE: std::launch::deferred
}

struct work {
  std::future<int> eager = std::async(std::launch::async, [] { return 3; });
  std::future<int> lazy = lazily(2);  // NOTE: goes with
};

int main(int argc, char**) {
  std::future<std::thread::id> id =  // NOTE: goes with
      std::async(std::launch::deferred, [] { return std::this_thread::get_id(); });  // NOTE: deferred
  std::cout << "same thread: " << (id.get() == std::this_thread::get_id()) << "\n";
  work both;
  const auto chosen = argc > 1 ? std::launch::async : std::launch::deferred;
  auto either = std::async(chosen, [] { return 4; });  // NOTE: known only when the program runs
  std::vector<std::future<int>> many;  // NOTE: goes with
  many.push_back(std::move(both.lazy));
  std::cout << take(std::move(many[0])) << " " << both.eager.get() << " " << either.get() << "\n";
}
