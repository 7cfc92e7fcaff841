// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include <cppless/detail/fiber/permits.hpp>
#include <cppless/detail/fiber/waits.hpp>

namespace cppless::fiber {

/// std::counting_semaphore for fibers: a number that `acquire` lowers, waiting while it is 0.
///
/// Thread safety: as std::counting_semaphore, by fibers and plain threads alike. It may be
/// destroyed by whoever acquired what another's `release`, which may not have returned yet, has
/// released.
/// Costs: one atomic exchange where nobody has to wait. Otherwise what is released goes to who has
/// waited longest, for a wake-up: see `mutex`.
template <std::ptrdiff_t LeastMax = detail::permits::max>
class counting_semaphore {
  static_assert(LeastMax >= 0 && LeastMax <= detail::permits::max);

 public:
  static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

  /// From 0 to `max()`.
  constexpr explicit counting_semaphore(std::ptrdiff_t desired) noexcept : count_(desired) {}

  /// `update` of at least 0; the number must not exceed `max()`.
  void release(std::ptrdiff_t update = 1) noexcept { count_.release(update); }

  void acquire() noexcept { count_.acquire(); }
  bool try_acquire() noexcept { return count_.try_acquire(); }

  /// False if the time passed first.
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return count_.acquire_until(detail::deadline_in(duration));
  }

  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return count_.acquire_until(detail::deadline_at(deadline));
  }

 private:
  detail::permits count_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace cppless::fiber
