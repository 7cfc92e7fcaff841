// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/session.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>

namespace platform::http {

/// Accepts connections and serves each until it ends: HTTP/2 where the first bytes are its preface
/// (plain) or ALPN chose it (TLS), HTTP/1.1 else. Used from the I/O thread.
class listener : public std::enable_shared_from_this<listener> {
 public:
  /// `tls` null: plain. It must outlive the listener.
  listener(tcp::acceptor acceptor, deadlines& watch, std::shared_ptr<service> to, patience times = {},
           boost::asio::ssl::context* tls = nullptr);
  void start();
  /// No more connections; those there are go on.
  void stop();
  unsigned short port() const;

 private:
  asio::awaitable<void> accept();
  static asio::awaitable<void> converse(tcp::socket socket, std::shared_ptr<listener> self);

  tcp::acceptor acceptor_;
  deadlines& watch_;
  std::shared_ptr<service> to_;
  patience times_;
  boost::asio::ssl::context* tls_;
};

/// Listens on `port` of the loopback interface (0: any free one). Throws if it is taken.
tcp::acceptor listen_on_loopback(asio::io_context& context, unsigned short port);

/// Takes over a listening socket.
tcp::acceptor adopt_listening(asio::io_context& context, int descriptor);

}  // namespace platform::http
