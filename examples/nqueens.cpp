// SPDX-License-Identifier: Apache-2.0
// Counts the ways to place n queens on a board of n by n. The columns and diagonals under attack
// are three bit patterns (M. Richards, "Backtracking algorithms in MCPL", 1997). The host places
// the first queens; each placing is a prefix, and a task counts what follows from it.
#include <cppless/cppless.hpp>

#include <array>
#include <cstdint>
#include <numeric>

#include "report.hpp"

// What attacks the next row, a bit a column. A plain aggregate: it travels without further code.
struct board {
  std::uint32_t columns = 0;
  std::uint32_t rising = 0;
  std::uint32_t falling = 0;
};

// Calls `visit` with each board that has one queen more.
template <class Visit>
void place_queen(const board& b, std::uint32_t all, Visit visit) {
  std::uint32_t open = all & ~(b.columns | b.rising | b.falling);
  while (open != 0) {
    const std::uint32_t queen = open & -open;
    open ^= queen;
    visit(board{b.columns | queen, (b.rising | queen) << 1, (b.falling | queen) >> 1});
  }
}

long solutions(const board& b, std::uint32_t all) {
  if (b.columns == all) return 1;
  long sum = 0;
  place_queen(b, all, [&](const board& next) { sum += solutions(next, all); });
  return sum;
}

void add_prefixes(const board& b, std::uint32_t all, int queens, std::vector<board>& prefixes) {
  if (queens == 0)
    prefixes.push_back(b);
  else
    place_queen(b, all, [&](const board& n) { add_prefixes(n, all, queens - 1, prefixes); });
}

int main(int argc, char** argv) {
  const example::arguments arguments(argc, argv, "Counts the solutions of the n-queens problem.",
                                     {{"n", 15, "size of the board, at most 18"},
                                      {"prefix", 2, "queens placed before a task takes over"}});
  constexpr std::array<long, 19> known = {1,   1,    0,     0,     2,      10,      4,
                                          40,  92,   352,   724,   2680,   14200,   73712,
                                          365596, 2279184, 14772512, 95815104, 666090624};
  const int n = std::min(arguments["n"], 18), prefix = std::min(arguments["prefix"], n);
  const std::uint32_t all = (1u << n) - 1;

  example::race race;
  const long serial = race.serial([&] { return solutions(board{}, all); });

  const long parallel = race.parallel([&] {
    std::vector<board> prefixes;
    add_prefixes(board{}, all, prefix, prefixes);

    cppless::default_dispatcher dispatcher;
    cppless::instance workers = dispatcher.create_instance();
    auto count = [=](const board& b) { return solutions(b, all); };
    std::vector<long> counts(prefixes.size());
    for (std::size_t i = 0; i < prefixes.size(); ++i)
      cppless::dispatch(workers, count, counts[i], {prefixes[i]});
    cppless::wait(workers, counts.size());
    return std::reduce(counts.begin(), counts.end());
  });

  std::printf("solutions  %ld\n", parallel);
  return race.finish(parallel == serial && parallel == known[n]);
}
