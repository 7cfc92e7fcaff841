// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace test {

struct request {
  std::string method;
  std::string path;
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;
  std::uint64_t connection = 0;  ///< Number of the connection that it came over, from 1.
};

/// How an answer is spoilt.
enum class fault {
  none,
  never_answer,
  close_connection,   ///< Instead of the answer.
  refuse_stream,      ///< HTTP/2: RST_STREAM with REFUSED_STREAM.
  reset_stream,       ///< HTTP/2: RST_STREAM with INTERNAL_ERROR.
  go_away_before,     ///< HTTP/2: GOAWAY that says that this request was not looked at.
  go_away_after,      ///< HTTP/2: the answer, then GOAWAY.
  truncate,           ///< Half of the body, then the connection is closed.
  garbage,            ///< Bytes that are no HTTP.
};

struct answer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::milliseconds delay{0};
  fault spoilt = fault::none;
};

/// To be called once, on any thread. Does nothing if the connection is gone.
using reply = std::function<void(answer)>;
using handler = std::function<void(const request&, reply)>;

/// A certificate for 127.0.0.1 and localhost that is its own authority.
struct certificate {
  std::string pem;
  std::string key_pem;
};
certificate make_certificate(const std::string& name = "127.0.0.1");

class connection;

/// An HTTP server on a port of 127.0.0.1, for tests: HTTP/1.1 and HTTP/2 (by prior knowledge, or by
/// ALPN over TLS). Handlers are called on its thread.
class http_server {
 public:
  struct options {
    std::optional<certificate> tls;
    bool has_http2 = true;
    std::uint32_t most_streams = 0;  ///< SETTINGS_MAX_CONCURRENT_STREAMS; 0: not said.
    std::uint16_t port = 0;          ///< 0: any.
  };

  http_server(options chosen, handler answers);
  http_server(handler answers);
  ~http_server();

  std::uint16_t port() const noexcept { return port_; }
  /// "http://127.0.0.1:1234"
  std::string url() const;

  std::uint64_t connections() const noexcept { return connections_; }

  /// Runs the server in the calling thread instead of one of its own.
  struct in_this_thread {};
  http_server(in_this_thread, options chosen, handler answers);
  void run();
  boost::asio::io_context& loop() noexcept { return loop_; }
  int listening_descriptor() { return acceptor_.native_handle(); }

 private:
  friend class connection;
  void accept();

  options options_;
  handler answers_;
  boost::asio::io_context loop_{1};
  boost::asio::ssl::context tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> connections_{0};
  std::set<std::shared_ptr<connection>> open_;
  std::thread thread_;
};

}  // namespace test
