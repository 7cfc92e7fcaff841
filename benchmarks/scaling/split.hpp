// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Strong scaling: one list of items and one function, worked off by `std::thread`s and by cppless
/// workers with the same split, for 1 and 2 of them.

#include <atomic>
#include <cppless/cppless.hpp>
#include <optional>
#include <string>
#include <thread>

#include "harness.hpp"

namespace bench {

/// `threads` threads take the next item until none is left; results in order.
template <class Item, class F>
auto on_threads(unsigned threads, const std::vector<Item>& items, const F& function) {
  std::vector<decltype(function(items[0]))> results(items.size());
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> team;
    for (unsigned i = 0; i < threads; ++i) {
      team.emplace_back([&] {
        for (std::size_t at = next++; at < items.size(); at = next++) {
          results[at] = function(items[at]);
        }
      });
    }
  }
  return results;
}

/// Three rows for each number of workers. The reference is `std::thread`, and every result must
/// equal that of a plain loop, item by item.
///   cppless              workers are warm, as in a program with more than one parallel step
///   cppless, new workers the instance is made and closed within the time
template <class Item, class F>
void compare_scaling(suite& on, const std::vector<Item>& items, const F& function) {
  using results_t = std::vector<decltype(function(items[0]))>;
  results_t expected, results;
  const auto right = [&] { return results == expected; };
  const auto serial = [&] {
    return microseconds([&] {
             results.clear();
             for (const Item& item : items) {
               results.push_back(function(item));
             }
           }) /
           1000;
  };
  if (on.wants("serial") || on.wants("1 worker") || on.wants("2 workers")) {
    serial();
    expected = results;
  }
  on.compare("serial", unit::ms, "", {{"plain loop", serial, right}});
  for (const unsigned workers : {1U, 2U}) {
    const std::string name = workers == 1 ? "1 worker" : "2 workers";
    if (!on.wants(name)) {
      continue;
    }
    const cppless::local_dispatcher dispatcher({.workers = workers});
    std::optional<cppless::instance> warm(dispatcher.create_instance());
    on.compare(
        name, unit::ms, "std::thread",
        {{"std::thread",
          [&] {
            return microseconds([&] { results = on_threads(workers, items, function); }) / 1000;
          },
          right},
         {"cppless",
          [&] {
            return microseconds([&] { results = cppless::map(*warm, items, function); }) / 1000;
          },
          right},
         {"cppless, new workers",
          [&] {
            return microseconds([&] {
                     cppless::instance fresh = dispatcher.create_instance();
                     results = cppless::map(fresh, items, function);
                   }) /
                   1000;
          },
          right}});
  }
}

}  // namespace bench
