// SPDX-License-Identifier: Apache-2.0
// RUN: output
// RUN: output -O2 -g
// OUT: 42
// OUT: 43 capture
// Paper, Figure 5: lambda reflection. As printed, in a function of its own; the function template
// around it in the figure plays no part.
#include <iostream>
#include <string>
#include <type_traits>

int main() {
  double arg1 = 42;
  std::string arg2 = "capture";
  auto lambda = [arg1, arg2]() {
    std::cout << arg1 << " " << arg2 << std::endl;
  };

  // The number of captured values is 2
  constexpr int capture_count = decltype(lambda)::capture_count();
  static_assert(capture_count == 2);
  // Returns 42, type of variable: double
  auto captured_arg1 = lambda.capture<0>();
  static_assert(std::is_same_v<decltype(captured_arg1), double>);
  std::cout << captured_arg1 << std::endl;

  lambda.capture<0>() = 43;
  // Will print "43 capture"
  lambda();
}
