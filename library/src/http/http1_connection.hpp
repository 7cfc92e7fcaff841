// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "http/connection.hpp"
#include "http/stream.hpp"

namespace cppless::detail {

/// HTTP/1.1 with keep-alive, one exchange at a time; answers are parsed by Boost.Beast. Handed a
/// stream that is connected.
class http1_connection final : public http_connection, public http_stream::user {
 public:
  http1_connection(owner& owner, std::string authority, std::size_t longest_body);
  ~http1_connection() override;

  void start(std::shared_ptr<http_stream> stream);

  std::size_t room() const override { return exchange_ == nullptr && takes_more_ ? 1 : 0; }
  std::size_t limit() const override { return 1; }
  std::size_t in_flight() const override { return exchange_ != nullptr ? 1 : 0; }
  void add(http_exchange& exchange) override;
  void flush() override { stream_->flush(); }
  void abandon(http_exchange& exchange) override;
  void retire() override;
  void look_after(time_point) override {}

  // http_stream::user
  void on_connected(std::string_view) override {}
  void on_received(std::string_view some) override;
  void on_writable(std::string& to) override;
  void on_closed(const http_failure& why) override;

 private:
  struct parser;

  void write_head(const http_request& request, std::string& to);
  void finish();
  void end(http_failure::kind what, const std::string& why);

  owner& owner_;
  const std::string authority_;
  const std::size_t longest_body_;
  std::shared_ptr<http_stream> stream_;
  http_exchange* exchange_ = nullptr;
  bool is_sent_ = false;  ///< Wholly.
  bool takes_more_ = true;
  bool is_closed_ = false;
  std::unique_ptr<parser> parser_;
};

}  // namespace cppless::detail
