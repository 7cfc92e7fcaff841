// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The physical floor of a call to another process: nothing but a request ring and a response ring
/// in shared memory (ring.hpp), between the host and one worker process. No types, no names, no
/// errors, no growth, one thread on each side. What cppless costs is given as a multiple of this with
/// the ring from which several workers could take, as cppless' can.

#include <span>

#include "ring.hpp"
#include "workload.hpp"

namespace bench {

/// One worker process, on the second core, and its two rings. Not thread-safe. The worker dies with
/// the host.
template <class Ring>
class bare_ring {
 public:
  /// `payload_bytes * in_flight` bytes of shared memory hold the payloads, a slot per call.
  bare_ring(std::span<const std::uint8_t> bytes, std::size_t in_flight, answer_sheet& answers);
  ~bare_ring();
  bare_ring(const bare_ring&) = delete;
  bare_ring& operator=(const bare_ring&) = delete;

  void submit(std::uint64_t index) {
    if (!payload_.empty()) {
      std::memcpy(slot(submitted_), payload_.data(), payload_.size());
    }
    rings_->requests.write(submitted_, {index, index, payload_.size(), {}});
    ++submitted_;
  }

  void wait_one() {
    const message& answer = rings_->responses.read(completed_);
    answers_[answer.index] = answer.value;
    ++completed_;
  }

 private:
  struct shared {
    Ring requests;
    Ring responses;
  };

  [[noreturn]] void serve();
  std::uint8_t* slot(std::uint64_t number) const {
    return slots_ + number % in_flight_ * payload_.size();
  }

  std::span<const std::uint8_t> payload_;
  std::size_t in_flight_, mapped_;
  answer_sheet& answers_;
  shared* rings_ = nullptr;
  std::uint8_t* slots_ = nullptr;
  std::uint64_t submitted_ = 0, completed_ = 0;
  int worker_ = -1;
};

extern template class bare_ring<shared_ring>;
extern template class bare_ring<tight_ring>;
extern template class bare_ring<indexed_ring>;

}  // namespace bench
