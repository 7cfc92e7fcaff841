// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.hpp"
#include "http/stream.hpp"

#include <memory>
#include <string>

namespace platform::http {

/// How long a peer may take.
struct patience {
  std::chrono::milliseconds handshake = std::chrono::seconds(10);
  std::chrono::milliseconds head = std::chrono::seconds(10);   ///< for a request's whole head
  std::chrono::milliseconds body = std::chrono::seconds(120);  ///< for a request's whole body
  std::chrono::milliseconds answer = std::chrono::seconds(60); ///< to take what we write
  std::chrono::milliseconds idle = std::chrono::seconds(350);  ///< between requests
};

/// Serves HTTP/1.1 requests one after the other until the connection ends; `read` are bytes that came
/// already.
asio::awaitable<void> serve_http1(std::unique_ptr<stream> connection, std::shared_ptr<service> to,
                                  patience times, std::string read);

/// Serves HTTP/2 (nghttp2); `read` as above.
asio::awaitable<void> serve_http2(std::unique_ptr<stream> connection, std::shared_ptr<service> to,
                                  patience times, std::string read);

}  // namespace platform::http
