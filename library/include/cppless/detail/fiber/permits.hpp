// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stop_token>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {

/// A number of permits to take and give back, and a queue of those who wait for one: what mutexes
/// and semaphores have in common. A permit that comes back while somebody waits goes to who has
/// waited longest, never past the queue.
///
/// Thread safety: everything. It may be destroyed by whoever took the permit that another one has
/// just given back, while that call has not returned yet.
class permits {
 public:
  static constexpr std::ptrdiff_t max = std::numeric_limits<std::ptrdiff_t>::max() >> 1;

  constexpr explicit permits(std::ptrdiff_t count) noexcept
      : state_(static_cast<std::uintptr_t>(count) * one) {}
  permits(const permits&) = delete;
  permits& operator=(const permits&) = delete;

  bool try_acquire() noexcept {
    std::uintptr_t seen = state_.load(std::memory_order_relaxed);
    while (seen >= one) {
      if (state_.compare_exchange_weak(seen, seen - one, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void acquire() noexcept {
    if (!try_acquire()) [[unlikely]] wait_for_one();
  }

  /// False if the deadline passed, or a stop was requested, before there was one.
  bool acquire_until(time_point deadline, const std::stop_token& stop = {}) noexcept {
    return try_acquire() || wait_for_one_until(deadline, stop);
  }

  void release(std::ptrdiff_t count = 1) noexcept {
    std::uintptr_t seen = state_.load(std::memory_order_relaxed);
    while (seen != awaited) {
      // The last access: whoever takes the permit may destroy this.
      if (state_.compare_exchange_weak(seen, seen + static_cast<std::uintptr_t>(count) * one,
                                       std::memory_order_release, std::memory_order_relaxed)) {
        return;
      }
    }
    hand_over(count);
  }

 private:
  // No permit and somebody in the queue; any other state is even: twice the number of permits.
  static constexpr std::uintptr_t awaited = 1, one = 2;

  bool take_or_queue(waiter& me) noexcept;
  void wait_for_one() noexcept;
  bool wait_for_one_until(time_point deadline, const std::stop_token& stop) noexcept;
  void hand_over(std::ptrdiff_t count) noexcept;

  std::atomic<std::uintptr_t> state_;
  spin_lock lock_;    // of the queue; also held to make the state `awaited` or not
  wait_queue queue_;  // empty unless `awaited`
};

}  // namespace cppless::fiber::detail
