// Declared in a header, defined in another source.
// OUT: 5 7
#include "work.hpp"

#include <iostream>
#include <cppless/fiber.hpp>

int main() {
  result shared = length("seven..").share();
  cell<int> five;
  cppless::fiber::future<int> future = five.value.get_future();
  five.value.set_value(5);
  std::cout << future.get() << " " << shared.get() << "\n";
}
