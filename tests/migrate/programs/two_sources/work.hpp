#ifndef WORK_HPP
#define WORK_HPP

#include "more.hpp"

#include <string>

// Length of a text, later.
std::future<int> length(std::string text);

template <class T>
struct cell {
  std::promise<T> value;
  static std::future<T> ready(T value);
};

#endif
