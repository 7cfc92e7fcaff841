// The seed's whole program.
// OUT: done
#include <future>
#include <iostream>

int f() { return 7; } // Some lengthy computation

int main() {
  // Spawn a new thread to compute f().
  std::future<int> fut = std::async(std::launch::async, f);
  // Wait for the spawned thread to finish.
  fut.wait();
  std::cout << "done\n";
  return fut.get() - 7;
}
