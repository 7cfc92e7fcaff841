// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>

#include <cppless/detail/fiber/permits.hpp>
#include <cppless/detail/fiber/waits.hpp>

namespace cppless::fiber {

/// std::mutex for fibers: who waits for it parks, and the worker does other things meanwhile. Works
/// with std::lock_guard, std::unique_lock, std::scoped_lock and std::lock.
///
/// It may be held while waiting for something else; the fiber that locked it unlocks it, on
/// whatever thread it is by then. Not recursive: locking it twice waits for ever.
///
/// Thread safety: as std::mutex, by fibers and plain threads alike. Destroyed unlocked only.
/// Costs: two atomic exchanges for locking and unlocking one that is free. One that is unlocked
/// while others wait goes to who has waited longest: that is fair, but costs a wake-up per turn,
/// tens of nanoseconds for a fiber and tens of microseconds for a plain thread.
class mutex {
 public:
  constexpr mutex() noexcept = default;

  void lock() noexcept { free_.acquire(); }
  bool try_lock() noexcept { return free_.try_acquire(); }
  void unlock() noexcept { free_.release(); }

 protected:
  detail::permits free_{1};
};

/// The same with time limits: std::timed_mutex for fibers.
class timed_mutex : public mutex {
 public:
  /// False if the time passed first.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return free_.acquire_until(detail::deadline_in(duration));
  }

  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return free_.acquire_until(detail::deadline_at(deadline));
  }
};

}  // namespace cppless::fiber
