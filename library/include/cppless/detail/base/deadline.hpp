// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace cppless::detail {

/// `now` and `duration`, without overflow: the longest durations mean for ever.
template <class Rep, class Period>
std::chrono::steady_clock::time_point deadline_after(
    std::chrono::steady_clock::time_point now, const std::chrono::duration<Rep, Period>& duration) {
  using clock = std::chrono::steady_clock;
  // Compared as seconds: the longest durations cannot be converted to nanoseconds.
  const std::chrono::duration<double> left = clock::time_point::max() - now;
  if (std::chrono::duration<double>(duration) >= left) return clock::time_point::max();
  return now + std::chrono::ceil<clock::duration>(duration);
}

}  // namespace cppless::detail
