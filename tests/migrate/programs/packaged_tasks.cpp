// Packaged tasks: on threads, in a queue, called twice, deduced.
// OUT: 6 20 9
// OUT: 8 8
#include <deque>
#include <functional>
#include <future>
#include <iostream>
#include <thread>

int main() {
  std::packaged_task<int(int, int)> product([](int a, int b) { return a * b; });
  std::future<int> six = product.get_future();
  std::thread thread(std::move(product), 2, 3);
  std::deque<std::packaged_task<int()>> queue;
  queue.emplace_back([] { return 20; });
  std::packaged_task nine{[] { return 9; }};
  std::future of_nine = nine.get_future();
  queue.push_back(std::move(nine));
  auto of_twenty = queue.front().get_future();
  for (auto& task : queue) task();
  thread.join();
  std::cout << six.get() << " " << of_twenty.get() << " " << of_nine.get() << "\n";
  std::packaged_task<int()> again([] { return 8; });
  for (int time = 0; time < 2; ++time) {
    again();
    std::cout << again.get_future().get() << (time == 0 ? " " : "\n");
    again.reset();
  }
}
