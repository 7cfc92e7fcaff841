// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/ticks.hpp"

namespace cppless::detail {

/// Ticks as nanoseconds since the trace began. What was later in ticks is never earlier in
/// nanoseconds, however much better the tick's length is known by then: spans that only touch must
/// not overlap in the file, where viewers would drop one of them. So each better length holds from
/// the last converted moment on. Thread-safe.
class trace_clock {
 public:
  /// Zero is now.
  trace_clock() noexcept;

  /// Converts in place; 0 stays 0, and what was before the trace becomes 1.
  void to_ns(std::span<std::uint64_t> ticks) noexcept;

  /// Nanoseconds since 1970 at zero.
  std::uint64_t wall_ns() const noexcept { return wall_ns_; }

 private:
  struct piece {
    std::uint64_t ticks;
    double ns;
    double ns_per_tick;
  };

  void refine() noexcept;
  double convert(std::uint64_t ticks) const noexcept;

  std::mutex mutex_;
  tick_clock::moment begin_;
  std::uint64_t wall_ns_;
  std::uint64_t compared_over_ = 0;
  std::uint64_t latest_;
  std::array<piece, 64> pieces_;  ///< One for each doubling of the time.
  std::size_t count_ = 0;
};

}  // namespace cppless::detail
