// Declared in a header, defined in another source.
// OUT: 5 7
#include "work.hpp"

#include <iostream>

int main() {
  result shared = length("seven..").share();
  cell<int> five;
  std::future<int> future = five.value.get_future();
  five.value.set_value(5);
  std::cout << future.get() << " " << shared.get() << "\n";
}
