// SPDX-License-Identifier: Apache-2.0
// RUN: output
// RUN: output -O2 -g
// OUT: first: 1
// OUT: second: 12
// OUT: 13 12
// Thesis 3.1.2, "The following example visualizes these language extensions". As printed, with its
// #include added. The thesis leaves the order of captures open; ours is the order of writing.
#include <iostream>

auto main(int argc, char* /*argv*/[]) -> int
{
  double m = 12;
  auto lambda = [argc, m](int /*q*/)
  { std::cout << argc << " " << m << std::endl; };

  constexpr int capture_count = decltype(lambda)::capture_count();
  auto first_capture = lambda.capture<0>();
  auto second_capture = lambda.capture<1>();

  std::cout << "first: " << first_capture << std::endl;
  std::cout << "second: " << second_capture << std::endl;
  static_assert(capture_count == 2);

  lambda.capture<0>() = 13;

  lambda(5);

  return 0;
}
