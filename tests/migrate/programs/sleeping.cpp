// Tasks that sleep or spin: as fibers, so that their workers are for others. What runs on threads stays.
// OUT: 6 1 2 3
#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

std::atomic<bool> is_set = false;

void wait_for_it() {
  while (!is_set) std::this_thread::yield();
}

template <class Duration>
int after(Duration pause, int value) {
  std::this_thread::sleep_for(pause);
  return value;
}

int in_a_thread() {
  using namespace std;
  this_thread::sleep_for(1ms);
  return 1;
}

#define NAP(TIME) std::this_thread::sleep_for(TIME)

int main() {
  using std::this_thread::sleep_until;
  // More than there are workers: they would all spin, and nobody would set it.
  std::vector<std::future<void>> spinning;
  for (int i = 0; i < 64; ++i) spinning.push_back(std::async(std::launch::async, wait_for_it));
  std::future<int> six = std::async(std::launch::async, [] {
    sleep_until(std::chrono::steady_clock::now() + 1ms);
    is_set = true;
    return after(1ms, 6);
  });
  std::this_thread::sleep_for(1ms);
  for (auto& each : spinning) each.get();
  std::cout << six.get() << " ";
  std::thread thread([] { std::cout << in_a_thread() << " "; });
  thread.join();
  auto two = std::async(std::launch::async, [] {  // NOTE: calls std::this_thread::sleep_for in a macro
    NAP(1ms);
    return 2;
  });
  std::cout << two.get() << " ";
  auto three = std::async(std::launch::deferred, [] {  // NOTE: deferred
    std::this_thread::yield();
    return 3;
  });
  std::cout << three.get() << "\n";
}
