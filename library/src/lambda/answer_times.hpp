// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cppless::detail {

/// How long a function's last answers took, in ns: tells which invocation takes suspiciously long.
class answer_times {
 public:
  void add(std::uint64_t took) noexcept { last_[count_++ % last_.size()] = took; }

  /// Twice what 95 of 100 take, or nothing while too few are known.
  std::optional<std::uint64_t> suspicious() const {
    if (count_ < enough) return std::nullopt;
    std::array<std::uint64_t, 64> sorted = last_;
    const std::size_t known = std::min(count_, sorted.size());
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(known * 95 / 100);
    std::nth_element(sorted.begin(), at, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return std::max(2 * *at, least_suspicious_ns);
  }

  /// Below it a second attempt would hardly be earlier.
  static constexpr std::uint64_t least_suspicious_ns = 50'000'000;

 private:
  static constexpr std::size_t enough = 16;

  std::array<std::uint64_t, 64> last_{};
  std::size_t count_ = 0;
};

}  // namespace cppless::detail
