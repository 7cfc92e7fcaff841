// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "harness.hpp"

namespace bench {

/// Seconds until both are done that run at once on two threads which run already: the least for two
/// workers that need nothing from each other, with the cores that others leave them.
template <class One, class Other>
double seconds_of_both(One one, Other other) {
  std::atomic<int> stage{0};
  std::thread second([&] {
    stage = 1;
    while (stage != 2) {
    }
    other();
  });
  while (stage != 1) {
  }
  return seconds([&] {
    stage = 2;
    one();
    second.join();
  });
}

}  // namespace bench

namespace bench::unit {

/// Of all workers together, so that it stays the same if n workers are n times as fast.
inline constexpr unit_of_measure worker_ns_per_task{"worker ns/task"};
inline constexpr unit_of_measure ns_per_task{"ns/task"};

}  // namespace bench::unit
