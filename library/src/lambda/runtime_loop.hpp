// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/wire/buffer.hpp>

#include "lambda/runtime_connection.hpp"

namespace cppless::detail {

/// Serves one task from AWS Lambda's Runtime API: asks for a request, runs it, answers, forever.
///
/// A task sees of its invocation, in the environment: `_X_AMZN_TRACE_ID`, `CPPLESS_REQUEST_ID` and
/// `CPPLESS_DEADLINE_MS` (since 1970).
class runtime_loop {
 public:
  /// Of the loops that run at once in this process.
  enum class rank {
    only,   ///< There is no other.
    first,  ///< As `next`, but its first request is a cold start.
    next,   ///< One of several: the environment, which they share, says nothing of invocations.
  };

  runtime_loop(const entry& served, std::string_view address, runtime_patience patience = {},
               rank among = rank::only);

  /// Until `stop` becomes readable while there is nothing to do. Throws `rejected` when the Runtime
  /// API cannot be understood or reached.
  void run(int stop);

 private:
  void serve(const runtime_reply& request);
  void answer_broken(const runtime_reply& request, const rejected& why);
  void answer(std::string_view request_id, std::string_view result);
  void answer_error(std::string_view request_id, std::string_view type, std::string_view message);
  void post(const std::string& path, std::string_view headers, std::string_view body);

  const entry* served_;
  rank among_;
  runtime_connection connection_;
  heap_sink result_;
  std::uint64_t peak_memory_ = 0;
  bool is_cold_;
};

/// Tells the Runtime API that this environment cannot serve; what goes wrong with that is ignored.
void report_init_error(std::string_view address, std::string_view type, std::string_view message);

}  // namespace cppless::detail
