// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>
#include <vector>

#include "http/connection.hpp"
#include "http/stream.hpp"

namespace cppless::detail {

struct http2_settings {
  std::size_t most_streams = 1000;  ///< In flight on one connection, if the server allows as many.
  std::chrono::nanoseconds ping_after{std::chrono::seconds(15)};  ///< Without a byte from the peer.
  std::chrono::nanoseconds ping_timeout{std::chrono::seconds(5)};
};

/// HTTP/2 by nghttp2. Handed a stream that is connected.
class http2_connection final : public http_connection, public http_stream::user {
 public:
  http2_connection(owner& owner, std::string authority, bool is_tls,
                   const http2_settings& settings);
  ~http2_connection() override;

  /// To be called once, before anything else.
  void start(std::shared_ptr<http_stream> stream);

  std::size_t room() const override;
  std::size_t limit() const override;
  bool is_settled() const override { return has_settings_; }
  std::size_t in_flight() const override { return pending_.size() + active_.size(); }
  void add(http_exchange& exchange) override;
  void flush() override { stream_->flush(); }
  void abandon(http_exchange& exchange) override;
  void retire() override;
  void look_after(time_point now) override;

  // http_stream::user
  void on_connected(std::string_view) override {}
  void on_received(std::string_view some) override;
  void on_writable(std::string& to) override;
  void on_closed(const http_failure& why) override;

 private:
  struct callbacks;

  void submit(http_exchange& exchange);
  void take_off(http_exchange& exchange);
  void stream_closed(std::int32_t stream, std::uint32_t code, http_exchange* exchange);
  void end(http_failure::kind what, const std::string& why);
  void give_back_pending();
  void close_if_done();

  owner& owner_;
  const std::string authority_;
  const bool is_tls_;
  const http2_settings settings_;
  std::shared_ptr<http_stream> stream_;
  nghttp2_session* session_ = nullptr;
  exchange_list pending_;  ///< Not submitted to nghttp2 yet.
  exchange_list active_;
  std::vector<nghttp2_nv> fields_;
  std::array<char, 24> length_;  ///< What the last of them points to until it is written.
  std::size_t remote_streams_ = 100;  ///< Until the server has said: what it is advised to allow.
  bool has_settings_ = false;
  bool takes_more_ = true;
  bool is_closed_ = false;
  bool has_changed_ = false;
  bool waits_for_ping_ = false;
  time_point heard_{};
  time_point pinged_{};
};

}  // namespace cppless::detail
