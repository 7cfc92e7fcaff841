// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <cppless/errors.hpp>

namespace cppless {

/// What one finished invocation took. Times are of the machine's monotonic clock.
struct execution_statistics {
  task_id id = 0;
  bool cold = false;                     ///< It was the first task of its worker.
  std::chrono::nanoseconds queue{0};     ///< From dispatch to the start of the last attempt.
  std::chrono::nanoseconds run{0};       ///< Last attempt in the worker: decode, call, encode.
  std::chrono::nanoseconds waited{0};    ///< Of `run`: for tasks that it dispatched. Local only.
  std::chrono::nanoseconds total{0};     ///< From dispatch until the result was in place.
  unsigned attempts = 0;                 ///< Times it was started; more than 1 after a lost worker.
  std::uint64_t peak_memory = 0;         ///< Bytes: largest resident size its worker has had so far.
};

/// What `instance::wait_one` returns: `auto [id, statistics] = instance.wait_one();`
struct completion {
  task_id id = 0;
  execution_statistics statistics;
};

}  // namespace cppless
