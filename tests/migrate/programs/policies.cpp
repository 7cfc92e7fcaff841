// All three policies that may run in parallel, the value kept, used at once and dropped.
// OUT: 1 first last
// OUT: 5 6 7
#include <future>
#include <iostream>
#include <string>

std::string text;

int add(int a, int b) { return a + b; }

int main() {
  const auto policy = std::launch::async;
  int once = std::async(add, 0, 1).get();
  std::cout << once;
  // The temporary's destructor waits: " first" is there before " last".
  std::async(std::launch::async, [] { text += " first"; });
  (void)std::async(policy, [] { text += " last"; });
  std::cout << text << "\n";
  auto five = std::async(std::launch::async | std::launch::deferred, add, 2, 3);
  auto six = std::async(std::launch::async, &add, 3, 3);
  auto seven = std::async(policy | std::launch::deferred, add, 3, 4);
  std::cout << five.get() << " " << six.get() << " " << seven.get() << "\n";
}
