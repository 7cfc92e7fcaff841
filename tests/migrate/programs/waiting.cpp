// Each way to wait, its status used and not used.
// OUT: not yet, not yet, ready, ready, ready
// OUT: value 3
#include <chrono>
#include <future>
#include <iostream>

using namespace std::chrono_literals;

const char* name_of(std::future_status status) {
  return status == std::future_status::ready ? "ready" : "not yet";
}

int main() {
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  std::future<int> fut = std::async(std::launch::async, [&open] {
    open.wait();
    return 3;
  });
  std::future_status status = fut.wait_for(0s);
  std::cout << name_of(status);
  const auto deadline = std::chrono::steady_clock::now() + 1ms;
  std::cout << ", " << name_of(fut.wait_until(deadline));
  fut.wait_for(1ms);
  fut.wait_until(std::chrono::system_clock::now() + 1ms);
  gate.set_value();
  fut.wait();
  while (fut.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
  }
  std::cout << ", " << name_of(fut.wait_for(1h));
  if (auto again = fut.wait_until(deadline); again == std::future_status::ready) {
    std::cout << ", ready";
  }
  std::cout << ", " << (fut.wait_for(0ns) == std::future_status::ready ? "ready" : "not yet") << "\n";
  std::cout << "value " << fut.get() << "\n";
}
