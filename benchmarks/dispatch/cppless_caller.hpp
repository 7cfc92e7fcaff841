// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/cppless.hpp>
#include <span>

#include "workload.hpp"

namespace bench {

/// cppless as its users call it: a lambda and a result variable for each call, a local dispatcher
/// with warm workers. Encoding and decoding are part of the time. Not thread-safe.
class cppless_caller {
 public:
  cppless_caller(unsigned workers, const payload& bytes, answer_sheet& answers)
      : payload_(bytes),
        answers_(answers),
        instance_(cppless::local_dispatcher({.workers = workers}).create_instance()) {}

  void submit(std::uint64_t index) {
    if (payload_.empty()) {
      cppless::dispatch(
          instance_, [](std::uint64_t number) { return answer_of(number, {}); }, answers_[index],
          {index});
    } else {
      cppless::dispatch(
          instance_,
          [](std::uint64_t number, const payload& bytes) { return answer_of(number, bytes); },
          answers_[index], {index, payload_});
    }
  }

  void wait_one() { instance_.wait_one(); }

 private:
  const payload& payload_;
  answer_sheet& answers_;
  cppless::instance instance_;
};

}  // namespace bench
