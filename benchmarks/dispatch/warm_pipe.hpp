// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One process that stays, a pipe to it and a pipe back; one write per call in either direction,
/// and whoever reads takes all that has come with one read.

#include <array>
#include <span>

#include "workload.hpp"

namespace bench {

/// Not thread-safe. At most 1,024 calls in flight (then the answers still fit into the pipe, so
/// that the worker never blocks on a host that is writing).
class warm_pipe {
 public:
  warm_pipe(std::span<const std::uint8_t> bytes, answer_sheet& answers);
  ~warm_pipe();
  warm_pipe(const warm_pipe&) = delete;
  warm_pipe& operator=(const warm_pipe&) = delete;
  void submit(std::uint64_t index);
  void wait_one();

 private:
  struct answer {
    std::uint64_t index, value;
  };
  [[noreturn]] void serve(int requests, int responses) const;

  std::span<const std::uint8_t> payload_;
  answer_sheet& answers_;
  std::vector<std::uint8_t> request_;  // index, then payload: sent with one write
  std::array<answer, 256> received_;
  std::size_t taken_ = 0, available_ = 0;
  int to_worker_ = -1, from_worker_ = -1, worker_ = -1;
};

}  // namespace bench
