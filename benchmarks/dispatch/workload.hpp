// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What every implementation in this folder does, and how it is timed.
///
/// The task gets one 64-bit number and, in the payload cases, a byte array, and answers with one
/// 64-bit number. "empty" means that it does nothing beyond that: without a number in and a number
/// out no answer could be checked.
///
/// The host keeps `in_flight` calls outstanding: it submits until that many are, then waits for
/// one, submits one, and so on. 1 in flight is the latency of a call, 1,024 the throughput.
///
/// A caller is a class with
///   void submit(std::uint64_t index);    // request `index` of the present run
///   void wait_one();                     // one completion, whichever; stores its answer
/// and stores answer `index` in `answers[index]`.

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "harness.hpp"

namespace bench {

using payload = std::vector<std::uint8_t>;

/// The task itself, the same function in every implementation.
inline std::uint64_t answer_of(std::uint64_t index, std::span<const std::uint8_t> bytes) {
  return bytes.empty() ? index + 1 : index + bytes.size() + bytes.front() + 256U * bytes.back();
}

struct workload {
  const char* name;
  std::size_t payload_bytes;
  std::size_t in_flight;
};

inline constexpr std::size_t kib = 1024, mib = 1024 * kib;
/// 4 MiB at 1,024 in flight would be 4 GiB of requests: it measures the machine's memory, not us.
inline constexpr workload workloads[] = {
    {"empty/1", 0, 1},         {"empty/64", 0, 64},         {"empty/1024", 0, 1024},
    {"4KiB/1", 4 * kib, 1},    {"4KiB/64", 4 * kib, 64},    {"4KiB/1024", 4 * kib, 1024},
    {"4MiB/1", 4 * mib, 1},    {"4MiB/16", 4 * mib, 16},
};

inline payload make_payload(std::size_t size) {
  payload bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 7 + 3);
  }
  return bytes;
}

/// Answers of one run, and whether all of them came and were right.
class answer_sheet {
 public:
  void reset(std::size_t count) { answers_.assign(count, unanswered); }
  std::uint64_t& operator[](std::size_t index) { return answers_[index]; }
  bool right(std::span<const std::uint8_t> bytes) const {
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (answers_[i] != answer_of(i, bytes)) {
        std::fprintf(stderr, "answer %zu is %llu, expected %llu\n", i,
                     static_cast<unsigned long long>(answers_[i]),
                     static_cast<unsigned long long>(answer_of(i, bytes)));
        return false;
      }
    }
    return !answers_.empty();
  }

 private:
  static constexpr std::uint64_t unanswered = ~std::uint64_t{0};
  std::vector<std::uint64_t> answers_;
};

template <class Caller>
void call(Caller& caller, std::size_t count, std::size_t in_flight) {
  std::size_t submitted = 0;
  for (std::size_t done = 0; done < count; ++done) {
    while (submitted < count && submitted - done < in_flight) {
      caller.submit(submitted++);
    }
    caller.wait_one();
  }
}

/// Microseconds per call of `count` calls. A fifth as many go before, untimed, where calls are cheap:
/// they wake the worker that slept while others were measured and let the kernel find it a core.
template <class Caller>
double us_per_call(Caller& caller, answer_sheet& answers, std::size_t count,
                   std::size_t in_flight) {
  const std::size_t warm_up = count >= 1000 ? count / 5 : 0;
  answers.reset(warm_up);
  call(caller, warm_up, in_flight);
  answers.reset(count);
  return microseconds([&] { call(caller, count, in_flight); }) / static_cast<double>(count);
}

}  // namespace bench
