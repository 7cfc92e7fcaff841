// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace platform::http {

/// Sends one HTTP/1.1 request to a port of the loopback interface and calls back with the answer, or
/// with nothing. While nobody listens there yet it tries again until `patience` is over.
void send(boost::asio::io_context& context, unsigned short port, request message, std::chrono::milliseconds patience,
          std::function<void(std::optional<response>)> call);

}  // namespace platform::http
