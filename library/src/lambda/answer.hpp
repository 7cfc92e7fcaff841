// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cppless/detail/wire/buffer.hpp>
#include <cppless/detail/task/job.hpp>

namespace cppless::detail {

/// What Lambda answered to an Invoke request, as it comes in.
struct lambda_answer {
  /// Forgets it; its memory is kept.
  void clear();

  unsigned status = 0;
  std::string body;
  std::string error_type;      ///< x-amzn-errortype, up to ':'.
  bool is_function_error = false;
  std::string date;            ///< The header Date.
};

/// What to do about an answer, or about none.
enum class verdict {
  result,      ///< A result is there.
  failed,      ///< For good.
  unshared,    ///< It was not started: a shared value that it names is not where it came to.
  lost,        ///< The task may have been started: start it again if it may be.
  throttled,   ///< It was not started: more slowly, later.
  unavailable, ///< The service is in trouble and has not started it: later.
  forbidden,   ///< The signature was not accepted: with other credentials or another time, perhaps.
};

struct judgement {
  verdict what;
  failure reason = {error_kind::lost, {}};  ///< Where it is no result.
};

/// What `answer` means for the task `of`, called `function`. Never throws for what the answer says.
judgement judge(const lambda_answer& answer, const entry& of, const task_limits& limits,
                std::string_view function);

/// What precedes the result in a function's answer.
struct result_head {
  static constexpr std::uint8_t known_format = 2;

  std::uint8_t format = 0;
  bool is_cold = false;
  bool has_updates = false;  ///< Of shared variables, behind the result.
  std::uint64_t run_ns = 0;
  std::uint64_t peak_memory = 0;
  std::uint64_t began_ns = 0;  ///< Since 1970, by the function's clock; 0: format 1, without it.

  /// Throws `rejected` if there are too few bytes or the format is another.
  static result_head read(source& from);
};

/// The most bytes an Invoke request or answer may have.
inline constexpr std::size_t most_payload = 6'291'556;

}  // namespace cppless::detail
