// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/connection.hpp"
#include "http/http2_connection.hpp"
#include "http/tls.hpp"
#include "http/url.hpp"

namespace cppless::detail {

/// HTTP to one origin: any number of exchanges over few connections.
///
/// All members must be called on the thread that runs the io_context, callbacks of exchanges come
/// from there too. What was submitted in one turn of the loop is written together at its end.
/// Exchanges that the server surely did not look at (refused streams, streams beyond a GOAWAY,
/// never sent) are sent again here; all else is the exchange's own decision.
class http_client final : public http_connection::owner {
 public:
  enum class version {
    http1,  ///< HTTP/1.1.
    http2,  ///< HTTP/2: over TLS if the server agrees (else 1.1), without TLS by prior knowledge.
  };

  struct options {
    version wanted = version::http2;
    std::size_t most_connections = 64;
    std::size_t longest_body = 8 << 20;  ///< Of an answer.
    std::chrono::nanoseconds connect_timeout{std::chrono::seconds(10)};
    std::chrono::nanoseconds idle_timeout{std::chrono::seconds(60)};
    /// Then a connection is replaced, so that a change of the name's addresses is noticed.
    std::chrono::nanoseconds longest_life{std::chrono::minutes(10)};
    std::string ca_bundle;
    http2_settings http2;
  };

  /// Throws `rejected` if the origin is https and the certificates cannot be read.
  http_client(boost::asio::io_context& loop, http_origin origin, options chosen);
  http_client(const http_client&) = delete;
  http_client& operator=(const http_client&) = delete;
  /// Exchanges still here are forgotten.
  ~http_client();

  const http_origin& origin() const noexcept { return origin_; }

  void submit(http_exchange& exchange);

  /// Forgets an exchange that has not ended: none of its members is called again.
  void abandon(http_exchange& exchange);

  std::size_t connections() const noexcept { return connections_.size(); }

 private:
  class opening;
  using clock = std::chrono::steady_clock;

  // http_connection::owner
  void on_finished(http_connection& from, http_exchange& exchange) override;
  void on_failed(http_connection& from, http_exchange& exchange,
                 const http_failure& why) override;
  void on_not_sent(http_connection& from, http_exchange& exchange) override;
  void on_refused(http_connection& from, http_exchange& exchange) override;
  void on_changed(http_connection& from) override;
  void on_closed(http_connection& from, const http_failure& why) override;

  void plan_turn();
  void turn();
  void open_connections();
  void open_connection();
  void on_opened(opening& which, std::string_view protocol);
  void on_not_opened(opening& which, const http_failure& why);
  void retire_opening(opening& which);
  void watch(clock::time_point until);
  void look_after_all();
  void clean_up();

  boost::asio::io_context& loop_;
  http_origin origin_;
  std::optional<http_proxy> proxy_;
  options options_;
  std::optional<tls_context> tls_;
  exchange_list waiting_;
  std::vector<std::unique_ptr<http_connection>> connections_;
  std::vector<std::unique_ptr<opening>> openings_;
  std::vector<std::unique_ptr<http_connection>> ended_connections_;
  std::vector<std::unique_ptr<opening>> ended_openings_;
  std::size_t usual_limit_;  ///< What one connection last took.
  bool has_turn_ = false;
  boost::asio::steady_timer timer_;
  clock::time_point timer_at_ = clock::time_point::max();
  clock::time_point no_opening_before_{};
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace cppless::detail
