// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.hpp"
#include "http/tls.hpp"
#include "http/url.hpp"

namespace cppless::detail {

/// A way to a server: TCP, through a proxy where there is one, TLS on top where the origin asks for
/// it. Everything happens on the thread that runs the io_context.
class http_stream : public std::enable_shared_from_this<http_stream> {
 public:
  /// Who uses the stream. Never called from within a call of the stream's but `flush`.
  struct user {
    virtual void on_connected(std::string_view protocol) = 0;
    /// Valid until it returns.
    virtual void on_received(std::string_view some) = 0;
    /// Appends what is to be sent to `to`, about 64 KiB at most; nothing if there is nothing.
    virtual void on_writable(std::string& to) = 0;
    /// The last call.
    virtual void on_closed(const http_failure& why) = 0;

   protected:
    ~user() = default;
  };

  http_stream(boost::asio::io_context& loop, http_origin origin, std::optional<http_proxy> proxy,
              const tls_context* tls, user& owner);

  /// Hands the stream on, e.g. from within on_connected.
  void set_user(user& next) noexcept { user_ = &next; }

  void connect(std::chrono::nanoseconds timeout);

  /// Asks the user for bytes and sends them, until it has none or the network takes no more.
  void flush();

  /// The user is not called again.
  void close();

 private:
  using error_code = boost::system::error_code;
  enum class phase { connecting, asking_proxy, shaking_hands, open, closed };

  void on_resolved(const error_code& error,
                   const boost::asio::ip::tcp::resolver::results_type& found);
  void on_tcp_connected(const error_code& error);
  void start_tls();
  void receive();
  void on_bytes(std::string_view some);
  void on_proxy_bytes(std::string_view some);
  void go_on_with_handshake();
  void decrypt();
  void send_raw();
  bool fill();
  void open(std::string_view protocol);
  void fail(http_failure::kind what, const std::string& why);

  http_origin origin_;
  std::optional<http_proxy> proxy_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  const tls_context* tls_;
  std::optional<tls_session> session_;
  user* user_;
  phase phase_ = phase::connecting;
  std::string plain_;      ///< To be encrypted.
  std::string outgoing_;   ///< To the network, from `sent_` on.
  std::size_t sent_ = 0;
  bool waits_to_send_ = false;
  bool is_flushing_ = false;
  std::string proxy_answer_;
  std::unique_ptr<char[]> incoming_;
  std::unique_ptr<char[]> decrypted_;
};

}  // namespace cppless::detail
