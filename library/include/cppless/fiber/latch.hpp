// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber {

/// std::latch for fibers: a number that only goes down, and waiting until it is 0.
///
/// Thread safety: as std::latch, by fibers and plain threads alike. It may be destroyed by whoever
/// has returned from `wait`, while the `count_down` that ended the wait has not returned yet.
class latch {
 public:
  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::ptrdiff_t>::max();
  }

  /// From 0 to `max()`.
  constexpr explicit latch(std::ptrdiff_t expected) noexcept : left_(expected) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  /// `update` from 0 to what is left.
  void count_down(std::ptrdiff_t update = 1) noexcept;
  /// Whether it is 0. Never waits.
  bool try_wait() const noexcept;
  void wait() const noexcept;
  void arrive_and_wait(std::ptrdiff_t update = 1) noexcept;

 private:
  mutable detail::spin_lock lock_;  // also to look: it may be destroyed right after
  mutable detail::wait_queue queue_;
  std::ptrdiff_t left_;
};

}  // namespace cppless::fiber
