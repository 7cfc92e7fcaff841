// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace platform::http {

/// An HTTP/1.1 request from bytes that come in pieces: Beast's parser with this server's limits.
class request_parser {
 public:
  enum class need { more, head_done, done, refused };

  request_parser();
  ~request_parser();
  request_parser(request_parser&&) noexcept;
  request_parser& operator=(request_parser&&) noexcept;

  /// Takes bytes from the front of `data`. `head_done` comes once, so that the body's limit can be set.
  need feed(std::string_view& data);

  void limit_body(std::size_t bytes);
  /// Valid from `head_done` on; the body from `done` on.
  request& message();
  bool keep_alive() const;
  bool expects_continue() const;
  /// After `refused`: the status to answer with, and why.
  unsigned status() const;
  std::string_view why() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace platform::http
