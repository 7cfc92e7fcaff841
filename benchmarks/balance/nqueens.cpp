// SPDX-License-Identifier: Apache-2.0
/// Prefixes of different lengths, as a recursive split makes them: the short ones stand for most of
/// the work, and some of them come last. A prefix is split by placing one queen more.

#include <cmath>

#include "makespan.hpp"

// The example's functions are what is measured; only its main is not wanted.
#define main nqueens_example
#include "../../examples/nqueens.cpp"
#undef main

namespace {

struct part {
  board placed;
  int queens;
};

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("balance_nqueens", argc, argv);
  constexpr int n = 14;
  constexpr std::uint32_t all = (1u << n) - 1;
  std::vector<part> parts;
  std::vector<board> rows;
  add_prefixes(board{}, all, 1, rows);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row + 3 >= rows.size()) {
      parts.push_back({rows[row], 1});
      continue;
    }
    std::vector<board> deeper;
    add_prefixes(rows[row], all, 2, deeper);
    for (const board& each : deeper) parts.push_back({each, 3});
  }
  bench::compare_makespan(
      suite, parts, [](const part& p) { return solutions(p.placed, all); },
      [](const part& p) { return std::pow(n, -p.queens); },
      [](const part& p, std::size_t) {
        std::vector<part> deeper;
        place_queen(p.placed, all, [&](const board& next) { deeper.push_back({next, p.queens + 1}); });
        return deeper;
      },
      [](const std::vector<long>& counts) { return std::reduce(counts.begin(), counts.end()); });
  return suite.finish();
}
