// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

namespace cppless::detail {

/// Nanoseconds of the machine-wide monotonic clock: comparable between host and workers.
inline std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Nanoseconds since 1970 by this machine's clock, which may be set at any time.
inline std::uint64_t wall_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

/// One turn of a busy wait; tells the core that its sibling may run.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The given turn of a busy wait. Now and then lets another thread run: whoever is waited for may
/// have been put on this very core.
inline void spin_turn(int turn) noexcept {
  if (turn % 64 == 63) {
    ::sched_yield();
  } else {
    spin_pause();
  }
}

}  // namespace cppless::detail
