// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execution/invocation.hpp"
#include "http/message.hpp"

#include <cstddef>
#include <string>

namespace platform::execution {

/// 6 MB and what AWS adds for the envelope: requests and answers of synchronous invocations.
inline constexpr std::size_t payload_limit = 6'291'556;

/// Why an environment or a run failed, in AWS's words; "RequestId: ... Error: " comes before `text`.
struct failure {
  std::string type;
  std::string text;
  std::string payload;  ///< set: what the function itself reported, passed on as it is
};

/// What the caller of `work` gets for it.
outcome to_outcome(const failure& what, const invocation& work);

std::string error_payload(const std::string& type, const std::string& message);

/// "Runtime exited with error: exit status 1", from what waitpid gave.
std::string exit_text(int status);

/// Two digits after the point.
std::string fixed(double number);

/// Answers of the Runtime API.
http::response runtime_status(unsigned status, const char* word);
http::response runtime_error(unsigned status, const char* type, const std::string& message);

}  // namespace platform::execution
