#include "work.hpp"
#include <cppless/fiber.hpp>

cppless::fiber::future<int> length(std::string text) {
  return cppless::fiber::async(std::launch::async, [text] { return static_cast<int>(text.size()); });
}
