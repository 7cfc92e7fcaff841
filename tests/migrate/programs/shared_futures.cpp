// One result for many: shared futures in tasks, copied and by reference.
// OUT: 10 20 30
// OUT: word word
#include <functional>
#include <future>
#include <iostream>
#include <string>
#include <vector>

int times(std::shared_future<int> base, int factor) { return base.get() * factor; }

int main() {
  std::promise<int> promise;
  std::shared_future<int> base = promise.get_future().share();
  std::vector<std::future<int>> products;
  for (int factor : {1, 2, 3}) {
    products.push_back(std::async(std::launch::async, times, base, factor));
  }
  promise.set_value(10);
  for (auto& product : products) {
    std::cout << product.get() << (&product == &products.back() ? "\n" : " ");
  }
  std::shared_future<std::string> word = std::async([] { return std::string("word"); });
  std::shared_future<std::string> copy = word;
  const std::string& reference = word.get();
  std::cout << reference << " " << copy.get() << "\n";
}
