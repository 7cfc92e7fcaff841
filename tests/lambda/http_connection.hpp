// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "http_server.hpp"

namespace test {

class connection;

/// What is spoken over a connection of the test server.
class protocol {
 public:
  virtual ~protocol() = default;
  virtual void on_bytes(std::string_view bytes) = 0;

  static std::unique_ptr<protocol> make_http1(connection& wire);
  static std::unique_ptr<protocol> make_http2(connection& wire, std::uint32_t most_streams);
};

class connection : public std::enable_shared_from_this<connection> {
 public:
  connection(http_server& server, boost::asio::ip::tcp::socket socket, std::uint64_t number);

  void start();
  void send(std::string_view bytes);
  void close_when_written();
  /// With a reset, as a machine that fails: nothing of what was under way arrives.
  void close();

  /// Has the server's handler answer; `respond` is called later on the server's thread, unless the
  /// connection is closed by then.
  void take(request taken, std::function<void(const answer&)> respond);

 private:
  using error_code = boost::system::error_code;

  bool is_tls() const { return server_.options_.tls.has_value(); }
  void read();
  void on_bytes(std::string_view bytes);

  http_server& server_;
  const std::uint64_t number_;
  boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
  std::unique_ptr<protocol> protocol_;
  bool is_closed_ = false;
  bool is_writing_ = false;
  bool closes_when_written_ = false;
  char incoming_[16384];
  std::string waiting_;
  std::string writing_;
};

}  // namespace test
