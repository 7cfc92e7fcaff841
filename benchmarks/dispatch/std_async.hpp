// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `std::async`: a thread per task in the host's own process, nothing is encoded, a payload is
/// copied. Not a peer in what it does (no other process), but what a C++ programmer has at hand.

#include <deque>
#include <future>
#include <span>

#include "workload.hpp"

namespace bench {

class std_async {
 public:
  std_async(std::span<const std::uint8_t> bytes, answer_sheet& answers)
      : payload_(bytes), answers_(answers) {}

  void submit(std::uint64_t index) {
    running_.emplace_back(index, std::async(std::launch::async, [index, bytes = copy()] {
                            return answer_of(index, bytes);
                          }));
  }

  /// Waits for the oldest: std::future cannot wait for any of several.
  void wait_one() {
    auto& [index, future] = running_.front();
    answers_[index] = future.get();
    running_.pop_front();
  }

 private:
  payload copy() const { return {payload_.begin(), payload_.end()}; }

  std::span<const std::uint8_t> payload_;
  answer_sheet& answers_;
  std::deque<std::pair<std::uint64_t, std::future<std::uint64_t>>> running_;
};

}  // namespace bench
