// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A few tasks that take very different times, on two workers: how much longer than the ideal (the
/// serial time over the number of workers) it takes until the last has ended, in the order of the
/// elements and with the longest first.

#include <cppless/cppless.hpp>

#include <vector>

#include "harness.hpp"

namespace bench {

/// `cost` is what is known beforehand of how long an item takes.
template <class Item, class F, class Cost>
void compare_makespan(suite& on, const std::vector<Item>& items, const F& function,
                      const Cost& cost) {
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
  const auto over_ideal = [&](const auto& run) {
    const double ideal = serial() / workers;
    results.clear();
    return seconds([&] { results = run(); }) / ideal;
  };
  const auto right = [&] { return results == expected; };
  on.compare("makespan over ideal", {"x"}, "in order",
             {{"in order", [&] { return over_ideal([&] { return cppless::map(instance, items, function); }); }, right},
              {"longest first",
               [&] {
                 return over_ideal([&] {
                   return cppless::map(instance, items, function, cppless::longest_first(cost));
                 });
               },
               right}});
}

}  // namespace bench
