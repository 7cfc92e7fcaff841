// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "http/exchange.hpp"

namespace cppless::detail {

struct http_answer {
  unsigned status = 0;
  std::string body;
};

/// One request without a body, on a connection of its own; blocks. Throws `lost` if no answer came
/// within `timeout`, `rejected` if the URL is malformed.
http_answer http_fetch(std::string_view method, std::string_view url,
                       std::span<const http_header> headers, std::chrono::nanoseconds timeout);

}  // namespace cppless::detail
