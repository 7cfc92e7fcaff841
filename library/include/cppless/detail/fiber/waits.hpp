// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>
#include <type_traits>

#include <cppless/detail/base/deadline.hpp>
#include <cppless/detail/fiber/task.hpp>
#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {

/// The time that waits go by: std::chrono::steady_clock's, but in deterministic runs.
time_point current_time() noexcept;

/// Now and `duration`, without overflow: the longest durations mean for ever.
template <class Rep, class Period>
time_point deadline_in(const std::chrono::duration<Rep, Period>& duration) {
  return cppless::detail::deadline_after(current_time(), duration);
}

/// The same moment of the clock that waits go by. One of another clock is translated as that stands
/// now: if it is set meanwhile, the wait does not follow.
template <class Clock, class Duration>
time_point deadline_at(const std::chrono::time_point<Clock, Duration>& moment) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return std::chrono::time_point_cast<time_point::duration>(moment);
  } else {
    return deadline_in(moment - Clock::now());
  }
}

/// False if the deadline passed, or a stop was requested, before the task was done. Never calls it
/// in place: that might take longer. The task is not deferred.
bool wait_until_done(task& wanted, time_point deadline, const std::stop_token& stop) noexcept;

/// Sleeps; ends early, with false, when a stop is requested.
bool sleep_until(time_point deadline, const std::stop_token& stop) noexcept;

}  // namespace cppless::fiber::detail
