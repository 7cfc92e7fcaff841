// SPDX-License-Identifier: Apache-2.0
#include "execution/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace platform::execution {

void histogram::add(std::chrono::nanoseconds time) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(1, time.count() / 1000));
  const auto power = static_cast<unsigned>(std::bit_width(us) - 1);
  const auto step = power >= 4 ? (us >> (power - 4)) & 15 : (us << (4 - power)) & 15;
  ++steps_[std::min<std::size_t>(power * 16 + step, steps_.size() - 1)];
  ++count_;
}

double histogram::percentile(double share) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    seen += steps_[i];
    if (seen >= wanted && steps_[i] > 0)
      return std::ldexp(1.0 + (static_cast<double>(i % 16) + 0.5) / 16, static_cast<int>(i / 16)) / 1000;
  }
  return 0;
}

void histogram::fade() {
  count_ = 0;
  for (auto& each : steps_) count_ += each /= 2;
}

}  // namespace platform::execution
