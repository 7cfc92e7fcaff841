// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "lambda/answer.hpp"

namespace cppless::detail {

class invocation;

/// Lines of the trace's picture for invocations under way at once: the lowest that is free. Where
/// they really run only Lambda knows.
class trace_lanes {
 public:
  unsigned take() {
    if (free_.empty()) return ++used_;
    const unsigned lane = free_.top();
    free_.pop();
    return lane;
  }
  void give_back(unsigned lane) { free_.push(lane); }

 private:
  unsigned used_ = 0;
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> free_;
};

/// What the lines of instance `instance` are called.
void name_in_trace(unsigned instance);

/// Where and when the function ran: between sending and answer, at the time that it says, as far as
/// its clock can be believed.
void trace_run(invocation& of, const result_head& head, unsigned instance);

/// A function that failed says nothing of its times: all of the last try counts as its run.
void trace_failed_run(invocation& of, unsigned instance);

/// The last try came to nothing. Another one, or the failure, follows.
void trace_lost_try(invocation& of, const failure& why, unsigned instance);

}  // namespace cppless::detail
