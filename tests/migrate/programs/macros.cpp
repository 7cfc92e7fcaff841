// What macros write stays, and what belongs to it.
// OUT: 1 2 3
#include <cassert>
#include <future>
#include <iostream>

#define SPAWN(function) std::async(function)
#define FUTURE std::future
#define SAME(text) text

int main() {
  auto spawned = SPAWN([] { return 1; });  // NOTE: std::async is written in a macro
  FUTURE<int> two = std::async([] { return 2; });  // NOTE: std::future is written in a macro NOTE: goes with
  SAME(std::future<int>) three = std::async([] { return 3; });  // NOTE: in a macro NOTE: goes with
  std::future<int> fine = std::async([] { return 4; });
  assert(fine.get() == 4);
  std::cout << spawned.get() << " " << two.get() << " " << three.get() << "\n";
}
