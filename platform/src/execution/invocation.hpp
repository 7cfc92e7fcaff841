// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace platform::execution {

using steady = std::chrono::steady_clock;

/// How an invocation ended.
struct outcome {
  std::string payload;         ///< the function's answer, or the error as JSON
  std::string function_error;  ///< "Unhandled" (X-Amz-Function-Error), or empty
  std::string content_type = "application/json";
  std::string log_tail;  ///< last 4 KB, if asked for
  /// Set: it never ran, or the platform failed; the API answers with this error instead.
  unsigned status = 200;
  std::string error_type;
};

/// One run of a function.
struct invocation {
  std::string request_id;
  std::string payload;
  std::string function_arn;  ///< as it was asked for, with the qualifier
  std::string client_context;
  std::string trace_id;
  bool wants_log = false;
  bool retried_later = false;  ///< asynchronous: an error is not final
  steady::time_point arrived = steady::now();
  std::function<void(outcome)> done;
};
using invocation_ptr = std::unique_ptr<invocation>;

}  // namespace platform::execution
