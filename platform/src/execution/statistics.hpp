// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace platform::execution {

/// How often which latency occurred: 16 steps per power of two, from 1 us; 6 % exact.
class histogram {
 public:
  void add(std::chrono::nanoseconds time);
  /// In milliseconds; 0 if nothing was added. `share` from 0 to 1.
  double percentile(double share) const;
  std::uint64_t count() const { return count_; }
  void fade();  ///< halves what was added, so that the picture follows what happens now

 private:
  std::array<std::uint32_t, 16 * 40> steps_{};
  std::uint64_t count_ = 0;
};

struct function_statistics {
  std::uint64_t invocations = 0;
  std::uint64_t errors = 0;
  std::uint64_t cold_starts = 0;
  std::uint64_t throttles = 0;
  histogram latency;
};

/// Counted since the server started.
using statistics = std::map<std::string, function_statistics>;

}  // namespace platform::execution
