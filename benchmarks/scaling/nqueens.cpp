// SPDX-License-Identifier: Apache-2.0
/// N-Queens by prefixes: many short tasks of unequal length with a few bytes each.

#include "split.hpp"

// The example's functions are what is measured; only its main is not wanted.
#define main nqueens_example
#include "../../examples/nqueens.cpp"
#undef main

int main(int argc, char** argv) {
  bench::suite suite("scaling_nqueens", argc, argv);
  const std::uint32_t all = (1U << 13) - 1;
  std::vector<board> prefixes;
  add_prefixes(board{}, all, 2, prefixes);
  bench::compare_scaling(suite, prefixes, [=](const board& b) { return solutions(b, all); });
  return suite.finish();
}
