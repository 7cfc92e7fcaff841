// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include <cppless/errors.hpp>

namespace cppless::detail {

/// Throws `rejected` naming the call, what it was asked and errno's text, if `result` is negative.
template <class Result>
Result check_system_call(Result result, const char* call, const std::string& subject = {}) {
  if (result < 0) {
    const int code = errno;
    throw rejected(std::string(call) + "(" + subject + ") failed: " + std::strerror(code) +
                   " (errno " + std::to_string(code) + ")");
  }
  return result;
}

/// Repeats `call` while it is interrupted by a signal.
template <class Call>
auto retry_if_interrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace cppless::detail
