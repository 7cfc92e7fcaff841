// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
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

/// std::recursive_mutex for fibers: the task, or plain thread, that has locked it may do so again,
/// and has to unlock it as often. A task that it waits for is another one, even where that is called
/// in place: if it locks the same mutex, both wait for ever, as threads would.
///
/// Thread safety and costs: as `mutex`, and a look at who runs.
class recursive_mutex {
 public:
  constexpr recursive_mutex() noexcept = default;

  void lock() noexcept {
    if (is_mine()) return again();
    free_.acquire();
    begin();
  }
  bool try_lock() noexcept { return locked_or_again([&] { return free_.try_acquire(); }); }
  void unlock() noexcept {
    if (--depth_ > 0) return;
    owner_.store(nullptr, std::memory_order_relaxed);
    free_.release();
  }

 protected:
  /// False if it is not the caller's and `acquire()` is false.
  template <class F>
  bool locked_or_again(F acquire) noexcept {
    if (is_mine()) {
      again();
      return true;
    }
    if (!acquire()) return false;
    begin();
    return true;
  }

  detail::permits free_{1};

 private:
  // Only who holds it can find itself there.
  bool is_mine() const noexcept {
    return owner_.load(std::memory_order_relaxed) == detail::current_identity();
  }
  void begin() noexcept {
    owner_.store(detail::current_identity(), std::memory_order_relaxed);
    depth_ = 1;
  }
  void again() noexcept { ++depth_; }

  std::atomic<const void*> owner_{nullptr};
  std::size_t depth_ = 0;  // the owner's
};

/// The same with time limits: std::recursive_timed_mutex for fibers.
class recursive_timed_mutex : public recursive_mutex {
 public:
  /// False if the time passed first.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return locked_or_again([&] { return free_.acquire_until(detail::deadline_in(duration)); });
  }

  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return locked_or_again([&] { return free_.acquire_until(detail::deadline_at(deadline)); });
  }
};

}  // namespace cppless::fiber
