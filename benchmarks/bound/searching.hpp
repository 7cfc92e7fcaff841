// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Branch and bound with and without a bound that tasks share, beside the serial search: nodes visited
/// and time. Without one each task knows what was known before the search (the thesis, 5.4: such
/// programs do not scale).
///   nodes, ms     of the whole search

#include <cppless/cppless.hpp>

#include <numeric>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr unsigned workers = 2;

struct visited {
  int answer = 0;
  double nodes = 0;
  double ms = 0;
};

/// `run` returns the answer and the number of nodes.
template <class Run>
visited timed(const Run& run) {
  visited seen;
  seen.ms = 1e3 * seconds([&] { std::tie(seen.answer, seen.nodes) = run(); });
  return seen;
}

/// The three ways, each a function that searches once.
template <class Serial, class Alone, class Shared>
void compare_bounds(suite& on, const Serial& serial, const Alone& alone, const Shared& shared) {
  const int expected = timed(serial).answer;
  visited seen;
  const auto right = [&] { return seen.answer == expected; };
  const auto nodes = [&](const auto& way) {
    return [&] { return seen = timed(way), seen.nodes; };
  };
  const auto ms = [&](const auto& way) {
    return [&] { return seen = timed(way), seen.ms; };
  };
  on.compare("nodes", {"nodes"}, "serial",
             {{"serial", nodes(serial), right},
              {"2 workers, no shared bound", nodes(alone), right},
              {"2 workers, shared bound", nodes(shared), right}});
  on.compare("time", unit::ms, "serial",
             {{"serial", ms(serial), right},
              {"2 workers, no shared bound", ms(alone), right},
              {"2 workers, shared bound", ms(shared), right}});
}

}  // namespace bench
