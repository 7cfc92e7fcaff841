#ifndef WORK_HPP
#define WORK_HPP

#include "more.hpp"

#include <string>
#include <cppless/fiber.hpp>

// Length of a text, later.
cppless::fiber::future<int> length(std::string text);

template <class T>
struct cell {
  cppless::fiber::promise<T> value;
  static cppless::fiber::future<T> ready(T value);
};

#endif
