#include "work.hpp"

std::future<int> length(std::string text) {
  return std::async(std::launch::async, [text] { return static_cast<int>(text.size()); });
}
