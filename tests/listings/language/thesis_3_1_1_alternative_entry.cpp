// SPDX-License-Identifier: Apache-2.0
// RUN: driver
// OUT: a.out: Hello main
// OUT: a_alt_0.out: Hello alt_entry
// Thesis 3.1.1, "A minimal application making use of the alternative entry point feature".
// As printed, with its #include added.
#include <iostream>

__attribute((entry)) auto alt_entry(int argc, char* argv[]) -> int
{
  std::cout << "Hello alt_entry" << std::endl;
  return 0;
}

auto main(int argc, char* argv[]) -> int
{
  std::cout << "Hello main" << std::endl;
  return 0;
}
