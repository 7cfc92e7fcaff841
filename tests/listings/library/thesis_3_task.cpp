// SPDX-License-Identifier: Apache-2.0
// RUN: output
// OUT: 54
// Thesis 3 (the example that opens the chapter): a function offloaded as a task.
// Printing slip mended: the lambda lacked its `return`, so that nothing came back.
#include <cppless/cppless.hpp>

#include <iostream>

int bar(int x) {
  return x + 42;
}

int foo(int y) {
  cppless::task baz = [=](int x) { return bar(x); };
  return cppless::dispatch(baz, y);
}

int main() { std::cout << foo(12) << std::endl; }
