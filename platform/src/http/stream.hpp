// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <memory>
#include <span>
#include <unordered_set>

namespace platform::http {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

class stream;

/// Ends connections whose peer takes too long: one timer for all of them, so that setting a deadline
/// costs a store. Used from the I/O thread only.
class deadlines {
 public:
  explicit deadlines(asio::io_context& context);
  void start();
  void stop();
  void close_all();
  std::size_t open_connections() const { return streams_.size(); }

 private:
  friend class stream;
  void sweep();
  std::unique_ptr<asio::basic_waitable_timer<std::chrono::steady_clock>> timer_;
  std::unordered_set<stream*> streams_;
};

/// A connection's bytes, plain or TLS. Reads and writes do not throw: they say how many bytes went
/// (read 0, write false: the connection is over).
class stream {
 public:
  using clock = std::chrono::steady_clock;
  stream(deadlines& watch);
  virtual ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  virtual asio::awaitable<std::size_t> read_some(std::span<char> into) = 0;
  virtual asio::awaitable<bool> write(asio::const_buffer first, asio::const_buffer second = {}) = 0;
  /// Ends both directions at once; pending reads and writes return.
  virtual void close() = 0;
  /// Says goodbye (TLS close_notify, FIN) and reads away what the peer still sends, for a moment, so
  /// that our last answer is not lost to a reset.
  virtual asio::awaitable<void> finish() = 0;
  virtual asio::any_io_executor executor() = 0;
  virtual bool encrypted() const = 0;

  /// The connection is closed unless another deadline is set before.
  void expires_after(std::chrono::milliseconds time) { deadline_ = clock::now() + time; }
  void expires_never() { deadline_ = clock::time_point::max(); }

 private:
  friend class deadlines;
  deadlines& watch_;
  clock::time_point deadline_ = clock::time_point::max();
};

std::unique_ptr<stream> make_plain(tcp::socket socket, deadlines& watch);

/// Returns null if the handshake fails or takes longer than `limit`; `h2` says what ALPN chose.
asio::awaitable<std::unique_ptr<stream>> handshake(tcp::socket socket, asio::ssl::context& context,
                                                   deadlines& watch, std::chrono::milliseconds limit,
                                                   bool& h2);

}  // namespace platform::http
