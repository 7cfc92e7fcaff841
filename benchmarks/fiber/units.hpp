// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness.hpp"

namespace bench::unit {

/// Of all workers together, so that it stays the same if n workers are n times as fast.
inline constexpr unit_of_measure worker_ns_per_task{"worker ns/task"};
inline constexpr unit_of_measure ns_per_task{"ns/task"};

}  // namespace bench::unit
