// SPDX-License-Identifier: Apache-2.0
#include "http/client.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

#include "http/http1_connection.hpp"

namespace cppless::detail {
namespace {

constexpr std::uint8_t most_resends = 100;
constexpr auto watch_interval = std::chrono::milliseconds(500);
// Before another connection is tried where one could not be made.
constexpr auto pause_after_failure = std::chrono::milliseconds(100);

}  // namespace

/// A connection that is being made. Which protocol it will speak shows only in the end.
class http_client::opening final : public http_stream::user {
 public:
  opening(http_client& client, const tls_context* tls)
      : client_(client),
        stream_(std::make_shared<http_stream>(client.loop_, client.origin_, client.proxy_, tls,
                                              *this)) {}
  ~opening() {
    if (stream_ != nullptr) stream_->close();
  }

  void connect() { stream_->connect(client_.options_.connect_timeout); }
  std::shared_ptr<http_stream> release() { return std::move(stream_); }

  void on_connected(std::string_view protocol) override { client_.on_opened(*this, protocol); }
  void on_received(std::string_view) override {}
  void on_writable(std::string&) override {}
  void on_closed(const http_failure& why) override { client_.on_not_opened(*this, why); }

 private:
  http_client& client_;
  std::shared_ptr<http_stream> stream_;
};

http_client::http_client(boost::asio::io_context& loop, http_origin origin, options chosen)
    : loop_(loop),
      origin_(std::move(origin)),
      proxy_(proxy_for(origin_)),
      options_(std::move(chosen)),
      usual_limit_(options_.wanted == version::http1 ? 1 : 100),
      timer_(loop) {
  if (origin_.is_tls) tls_.emplace(options_.ca_bundle, options_.wanted == version::http2);
}

http_client::~http_client() { *is_alive_ = false; }

void http_client::submit(http_exchange& exchange) {
  exchange.connection_ = nullptr;
  exchange.resends_ = 0;
  waiting_.push_back(exchange);
  if (timer_at_ == clock::time_point::max()) watch(clock::now() + watch_interval);
  plan_turn();
}

void http_client::abandon(http_exchange& exchange) {
  http_connection* const connection = exchange.connection_;
  if (connection == nullptr) {
    waiting_.remove(exchange);
  } else {
    connection->abandon(exchange);
    plan_turn();
  }
}

void http_client::plan_turn() {
  if (std::exchange(has_turn_, true)) return;
  boost::asio::post(loop_, [this, is_alive = is_alive_] {
    if (*is_alive) turn();
  });
}

// Hands waiting exchanges to connections, the emptiest first, and has all of them written.
void http_client::turn() {
  has_turn_ = false;
  while (!waiting_.empty()) {
    http_connection* best = nullptr;
    for (const auto& each : connections_) {
      if (each->room() != 0 && (best == nullptr || each->in_flight() < best->in_flight())) {
        best = each.get();
      }
    }
    if (best == nullptr) break;
    // In runs: looking anew for each exchange would be most of the work.
    const std::size_t fair = waiting_.size() / connections_.size() + 1;
    for (std::size_t n = std::min(best->room(), fair); n != 0 && !waiting_.empty(); --n) {
      best->add(*waiting_.pop_front());
    }
  }
  if (!waiting_.empty()) open_connections();
  // By index: connections may end while they write, and go to ended_connections_.
  for (std::size_t at = 0; at < connections_.size(); ++at) connections_[at]->flush();
  clean_up();
}

void http_client::open_connections() {
  if (clock::now() < no_opening_before_) return;
  // What one takes is known only when the first has been told by the server.
  if (options_.wanted == version::http2) {
    if (connections_.empty() && !openings_.empty()) return;
    for (const auto& each : connections_) {
      if (!each->is_settled()) return;
    }
  }
  const std::size_t usual = std::max<std::size_t>(1, usual_limit_);
  std::size_t coming = openings_.size() * usual;
  while (waiting_.size() > coming &&
         connections_.size() + openings_.size() < options_.most_connections) {
    open_connection();
    coming += usual;
    if (connections_.empty() && options_.wanted == version::http2) return;
  }
}

void http_client::open_connection() {
  openings_.push_back(std::make_unique<opening>(*this, tls_ ? &*tls_ : nullptr));
  openings_.back()->connect();
}

void http_client::on_opened(opening& which, std::string_view protocol) {
  no_opening_before_ = {};
  const bool is_http2 =
      options_.wanted == version::http2 && (!origin_.is_tls || protocol == "h2");
  std::shared_ptr<http_stream> stream = which.release();
  const auto adopt = [&](auto made) {
    stream->set_user(*made);
    made->start(std::move(stream));
    made->born = made->idle_since = clock::now();
    connections_.push_back(std::move(made));
  };
  if (is_http2) {
    adopt(std::make_unique<http2_connection>(*this, origin_.authority(), origin_.is_tls,
                                             options_.http2));
  } else {
    adopt(std::make_unique<http1_connection>(*this, origin_.authority(), options_.longest_body));
    usual_limit_ = 1;
  }
  retire_opening(which);
  watch(clock::now() + watch_interval);
  plan_turn();
}

void http_client::on_not_opened(opening& which, const http_failure& why) {
  retire_opening(which);
  no_opening_before_ = clock::now() + pause_after_failure;
  watch(no_opening_before_);
  // Whoever waits may still be served by another connection.
  if (!connections_.empty() || !openings_.empty()) return;
  no_opening_before_ = {};
  exchange_list failed = std::exchange(waiting_, {});
  while (http_exchange* const each = failed.pop_front()) each->on_failure(why);
}

void http_client::retire_opening(opening& which) {
  const auto found = std::find_if(openings_.begin(), openings_.end(),
                                  [&](const auto& each) { return each.get() == &which; });
  ended_openings_.push_back(std::move(*found));
  openings_.erase(found);
  plan_turn();
}

void http_client::on_finished(http_connection&, http_exchange& exchange) {
  exchange.on_end();
  if (!waiting_.empty()) plan_turn();
}

void http_client::on_failed(http_connection&, http_exchange& exchange, const http_failure& why) {
  exchange.on_failure(why);
  if (!waiting_.empty()) plan_turn();
}

void http_client::on_not_sent(http_connection&, http_exchange& exchange) {
  waiting_.push_front(exchange);
  plan_turn();
}

void http_client::on_refused(http_connection&, http_exchange& exchange) {
  if (exchange.resends_ == most_resends) {
    exchange.on_failure({http_failure::kind::lost,
                         "the server at " + origin_.text() + " refused to look at the request " +
                             std::to_string(most_resends) + " times"});
    return;
  }
  ++exchange.resends_;
  waiting_.push_front(exchange);
  plan_turn();
}

void http_client::on_changed(http_connection& from) {
  if (from.limit() != 0 && from.room() != 0) usual_limit_ = from.limit();
  plan_turn();
}

void http_client::on_closed(http_connection& from, const http_failure&) {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& each) { return each.get() == &from; });
  if (found == connections_.end()) return;
  ended_connections_.push_back(std::move(*found));
  connections_.erase(found);
  plan_turn();
}

void http_client::clean_up() {
  ended_connections_.clear();
  ended_openings_.clear();
}

void http_client::watch(clock::time_point until) {
  if (timer_at_ <= until) return;
  timer_at_ = until;
  timer_.expires_at(until);
  timer_.async_wait([this, is_alive = is_alive_](const boost::system::error_code& error) {
    if (error || !*is_alive) return;
    timer_at_ = clock::time_point::max();
    look_after_all();
  });
}

// Ends what is overdue, and connections that nobody needs, that are old or whose peer is gone.
void http_client::look_after_all() {
  const clock::time_point now = clock::now();
  for (std::size_t at = 0; at < connections_.size();) {
    http_connection& each = *connections_[at];
    const bool is_idle = each.in_flight() == 0;
    if ((is_idle && now - each.idle_since > options_.idle_timeout) ||
        now - each.born > options_.longest_life) {
      each.retire();
    } else {
      each.look_after(now);
    }
    if (at < connections_.size() && connections_[at].get() == &each) ++at;
  }
  clean_up();
  if (!waiting_.empty()) plan_turn();
  if (!connections_.empty() || !openings_.empty() || !waiting_.empty()) {
    watch(now + watch_interval);
  }
}

}  // namespace cppless::detail
