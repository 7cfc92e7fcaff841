// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace cppless::detail {

/// How many invocations may be under way: fewer once the service says that it is too much, slowly
/// more as long as it does not. Times are of the monotonic clock, in ns.
class sending_rate {
 public:
  explicit sending_rate(std::size_t most) noexcept
      : most_(static_cast<double>(most)), limit_(most_) {}

  std::size_t limit() const noexcept { return static_cast<std::size_t>(limit_); }
  bool is_reduced() const noexcept { return limit_ < most_; }

  /// To be called for each sent; returns what to call `throttled` with.
  std::uint64_t sent() noexcept { return ++last_; }

  void succeeded() noexcept { limit_ = std::min(most_, limit_ + 1 / limit_); }

  /// Time alone raises it too: what is under way may be so for a quarter of an hour.
  void pass(std::uint64_t now) noexcept {
    if (now < changed_ns_ + growth_interval_ns || !is_reduced()) return;
    changed_ns_ = now;
    limit_ = std::min(most_, limit_ + std::max(1.0, limit_ * 0.05));
  }

  /// `in_flight`: how many there were when it was refused. What was sent before the last reduction
  /// says nothing about what came of that.
  void throttled(std::uint64_t number, std::size_t in_flight, std::uint64_t now) noexcept {
    if (number <= reduced_at_) return;
    reduced_at_ = last_;
    changed_ns_ = now;
    const double tried = std::min(limit_, static_cast<double>(std::max<std::size_t>(in_flight, 1)));
    limit_ = std::max(1.0, tried * 0.7);
  }

  static constexpr std::uint64_t growth_interval_ns = 200'000'000;

 private:
  double most_;
  double limit_;
  std::uint64_t changed_ns_ = 0;
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
