// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "lambda/runtime_reply.hpp"

namespace cppless::detail {

/// How long the Runtime API may take; tests are in more of a hurry than a function.
struct runtime_patience {
  std::chrono::milliseconds silence = std::chrono::seconds(60);  ///< Between two pieces of an answer.
  std::chrono::milliseconds answer = std::chrono::minutes(10);   ///< From its first to its last byte.
  std::chrono::milliseconds reconnect = std::chrono::milliseconds(50);  ///< Before another attempt.
};

/// Blocking HTTP/1.1 over one connection that is kept: to a numeric address, because a statically
/// linked program cannot look up names. Not thread-safe.
class runtime_connection {
 public:
  /// `address`: "127.0.0.1:9001", "[::1]:9001" or "localhost:9001"; throws `rejected` otherwise.
  /// Connects with the first request.
  explicit runtime_connection(std::string_view address, runtime_patience patience = {});

  /// Waits for the answer as long as it takes to begin, unless `stop` becomes readable: then there
  /// is none. A connection that is closed before the answer begins is made again a few times.
  /// Throws `rejected`; `last_reply` then has what was understood.
  std::optional<runtime_reply> get(std::string_view path, int stop);

  /// As `get`, but the answer must begin in time and nothing else ends the wait.
  runtime_reply post(std::string_view path, std::string_view more_headers, std::string_view body);

  const runtime_reply& last_reply() const { return last_reply_; }

 private:
  enum class attempt { done, stopped, closed };

  void connect();
  attempt exchange(std::string_view head, std::string_view body, std::optional<int> stop);
  bool send(std::string_view head, std::string_view body);
  attempt receive(std::optional<int> stop);
  attempt repeat(std::string_view head, std::string_view body, std::optional<int> stop);
  std::string head_of(std::string_view method, std::string_view path) const;

  std::string host_;  // for the Host header
  alignas(8) char address_[128] = {};
  std::uint32_t address_size_ = 0;
  runtime_patience patience_;
  file_descriptor socket_;
  runtime_reply last_reply_;
};

}  // namespace cppless::detail
