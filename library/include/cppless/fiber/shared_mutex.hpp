// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <shared_mutex>

#include <cppless/detail/fiber/permits.hpp>
#include <cppless/detail/fiber/waits.hpp>

namespace cppless::fiber {

/// std::shared_mutex for fibers: held by one, or shared by any number. Works with std::shared_lock,
/// std::unique_lock and std::lock_guard.
///
/// In the order they come: who wants it alone waits for those that share it, and whoever comes
/// later waits behind, also to share it. So neither kind can keep the other out for ever, and who
/// shares it must not lock it once more.
///
/// Thread safety: as std::shared_mutex, by fibers and plain threads alike; whichever fiber or thread
/// has locked it may leave the unlocking to another. Destroyed unlocked only.
/// Costs: four atomic exchanges for locking and unlocking, three or five for sharing, on one line:
/// for what is read in a few nanoseconds, a `mutex` is not slower.
class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;

  void lock() noexcept {
    gate_.acquire();
    empty_.acquire();
  }
  bool try_lock() noexcept {
    if (!gate_.try_acquire()) return false;
    return empty_.try_acquire() || give_back_gate();
  }
  void unlock() noexcept {
    empty_.release();
    gate_.release();
  }

  void lock_shared() noexcept {
    gate_.acquire();
    enter();
  }
  bool try_lock_shared() noexcept {
    if (!gate_.try_acquire()) return false;
    enter();
    return true;
  }
  void unlock_shared() noexcept {
    if (sharing_.fetch_sub(1, std::memory_order_acq_rel) == 1) empty_.release();
  }

 protected:
  bool give_back_gate() noexcept {
    gate_.release();
    return false;
  }
  /// The first that shares it takes it for all. It may have to wait, but only for the last of those
  /// before, who is just giving it back.
  void enter() noexcept {
    if (sharing_.fetch_add(1, std::memory_order_acq_rel) == 0) empty_.acquire();
    gate_.release();
  }

  detail::permits gate_{1};   // to come in; held by who has it alone
  detail::permits empty_{1};  // nobody is in
  std::atomic<std::uint32_t> sharing_{0};
};

/// The same with time limits: std::shared_timed_mutex for fibers.
class shared_timed_mutex : public shared_mutex {
 public:
  /// These are false if the time passed first.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return lock_until_steady(detail::deadline_in(duration));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return lock_until_steady(detail::deadline_at(deadline));
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return share_until_steady(detail::deadline_in(duration));
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return share_until_steady(detail::deadline_at(deadline));
  }

 private:
  bool lock_until_steady(detail::time_point deadline) noexcept {
    if (!gate_.acquire_until(deadline)) return false;
    return empty_.acquire_until(deadline) || give_back_gate();
  }
  bool share_until_steady(detail::time_point deadline) noexcept {
    if (!gate_.acquire_until(deadline)) return false;
    enter();
    return true;
  }
};

}  // namespace cppless::fiber
