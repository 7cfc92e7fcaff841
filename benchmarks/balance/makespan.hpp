// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A few tasks that take very different times, on two workers: how much longer than the ideal (the
/// serial time over the number of workers) it takes until the last has ended, in the order of the
/// elements and by the policies of `map`.

#include <cppless/cppless.hpp>

#include <vector>

#include "harness.hpp"

namespace bench {

/// `cost` is what is known beforehand of how long an item takes, `halves` and `join` how to split it.
template <class Item, class F, class Cost, class Halves, class Join>
void compare_makespan(suite& on, const std::vector<Item>& items, const F& function,
                      const Cost& cost, const Halves& halves, const Join& join) {
  constexpr unsigned workers = 2;
  std::vector<decltype(function(items[0]))> expected, results;
  const auto serial = [&] {
    return seconds([&] {
      results.clear();
      for (const Item& each : items) results.push_back(function(each));
    });
  };
  serial();
  expected = results;
  auto instance = cppless::local_dispatcher({.workers = workers}).create_instance();
  // In turn with what it is compared with: the machine drifts.
  const auto row = [&](const char* name, const auto&... policies) {
    return implementation{name,
                          [&, policies...] {
                            const double ideal = serial() / workers;
                            results.clear();
                            return seconds([&] {
                                     results = cppless::map(instance, items, function, policies...);
                                   }) / ideal;
                          },
                          [&] { return results == expected; }};
  };
  const cppless::longest_first order(cost);
  const cppless::split parts(halves, join);
  on.compare("makespan over ideal", {"x"}, "in order",
             {row("in order"), row("longest first", order), row("longest first, guided", order,
                                                                cppless::guided()),
              row("longest first, split", order, parts),
              row("longest first, split, guided", order, parts, cppless::guided())});
}

}  // namespace bench
