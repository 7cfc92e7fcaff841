// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace cppless::detail {

/// Time stamps at a third of what the clock costs: the processor's counter where the kernel itself
/// tells time by it, else nanoseconds. Comparable between host and workers.
class tick_clock {
 public:
  static tick_clock& get() noexcept {
    static tick_clock clock;
    return clock;
  }

  std::uint64_t now() const noexcept {
#if defined(__x86_64__)
    if (is_counter_) [[likely]] return __builtin_ia32_rdtsc();
#endif
    return now_ns();
  }

  /// The time between two stamps. `refine` with the later one first. At most a century, so that
  /// sums of a few do not overflow whatever stamps another process gave.
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    constexpr double longest = 3.2e18;
    return static_cast<std::uint64_t>(std::min(
        static_cast<double>(ticks) * ns_per_tick_.load(std::memory_order_relaxed), longest));
  }

  /// Compares counter and clock again if that was long ago: as both are compared over at least half
  /// of the time since `get` was first called, a time that began later is off by what reading the
  /// clock takes, however long it is.
  void refine(std::uint64_t now) noexcept {
    const std::uint64_t compared_over = compared_over_.load(std::memory_order_relaxed);
    if (is_counter_ && now - begin_.ticks > 2 * compared_over) compare();
  }

  /// One moment, as both tell it.
  struct moment {
    std::uint64_t ticks;
    std::uint64_t ns;
  };
  moment read_both() const noexcept;

 private:
  tick_clock() noexcept;
  void compare() noexcept;

  const bool is_counter_;
  const moment begin_;
  std::atomic<std::uint64_t> compared_over_{0};
  std::atomic<double> ns_per_tick_{1.0};
};

inline std::uint64_t ticks() noexcept { return tick_clock::get().now(); }

}  // namespace cppless::detail
