// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cppless::detail {

/// What AWS Lambda lets through in either direction: a request, or an answer.
inline constexpr std::size_t most_lambda_payload = 6'291'556;

/// An answer of Lambda's Runtime API.
struct runtime_reply {
  unsigned status = 0;
  bool keeps_connection = false;
  std::string request_id;  ///< Of an invocation: characters that may stand in a path as they are.
  std::string trace_id;
  std::uint64_t deadline_ms = 0;  ///< Since 1970.
  std::string body;
};

/// Reads one HTTP/1.1 answer from bytes as they come in. The bytes may be anything.
class runtime_reply_reader {
 public:
  runtime_reply_reader();
  ~runtime_reply_reader();

  /// Takes what it can of `input` and returns how many bytes that were. The others must be given
  /// again with more behind them. Throws `rejected`; what was understood so far stays in `reply()`.
  std::size_t put(std::span<const char> input);

  /// The connection was closed by the other side. Throws `rejected` if that is too early.
  void put_end();

  bool is_done() const;
  const runtime_reply& reply() const;
  runtime_reply& reply();

 private:
  class parser;
  std::unique_ptr<parser> parser_;
};

}  // namespace cppless::detail
