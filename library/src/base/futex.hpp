// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace cppless::detail {

/// Sleeps while `word` holds `expected`, at most `timeout_ns` (0: no limit). The word may live in
/// memory shared between processes. May return early: callers look again.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::uint64_t timeout_ns = 0) noexcept {
  timespec limit{static_cast<time_t>(timeout_ns / 1'000'000'000),
                 static_cast<long>(timeout_ns % 1'000'000'000)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, timeout_ns ? &limit : nullptr, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int sleepers = 1) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, sleepers, nullptr, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  futex_wake(word, INT_MAX);
}

}  // namespace cppless::detail
