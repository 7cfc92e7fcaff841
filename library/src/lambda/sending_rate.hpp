// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace cppless::detail {

/// How many invocations may be under way: fewer once the service says that it is too much, slowly
/// more as long as it does not. Each number of an invocation counts once: what was sent before the
/// last reduction says nothing about what came of it.
class sending_rate {
 public:
  explicit sending_rate(std::size_t most) noexcept
      : most_(static_cast<double>(most)), limit_(most_) {}

  std::size_t limit() const noexcept { return static_cast<std::size_t>(limit_); }

  /// To be called for each sent; returns what to call the outcome with.
  std::uint64_t sent() noexcept { return ++last_; }

  void succeeded() noexcept { limit_ = std::min(most_, limit_ + 1 / limit_); }

  /// `in_flight`: how many there were when it was refused.
  void throttled(std::uint64_t number, std::size_t in_flight) noexcept {
    if (number <= reduced_at_) return;
    reduced_at_ = last_;
    const double tried = std::min(limit_, static_cast<double>(std::max<std::size_t>(in_flight, 1)));
    limit_ = std::max(1.0, tried * 0.7);
  }

 private:
  double most_;
  double limit_;
  std::uint64_t last_ = 0;
  std::uint64_t reduced_at_ = 0;
};

/// Keeps retries from becoming a multiple of the load: each success earns a part of one.
class retry_budget {
 public:
  bool take() noexcept {
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  void earn() noexcept { tokens_ = std::min(most, tokens_ + 0.2); }

 private:
  static constexpr double most = 1000;
  double tokens_ = most;
};

}  // namespace cppless::detail
