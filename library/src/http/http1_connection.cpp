// SPDX-License-Identifier: Apache-2.0
#include "http/http1_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <optional>
#include <utility>

namespace cppless::detail {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t bytes_per_turn = 64 * 1024;

std::string_view text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct http1_connection::parser {
  std::optional<http::response_parser<http::string_body>> answer;
  std::string unread;  ///< The part of a header that has not come whole.
  std::size_t longest_body;

  void restart() {
    answer.emplace();
    answer->eager(true);
    answer->body_limit(longest_body);
    unread.clear();
  }
};

http1_connection::http1_connection(owner& owner, std::string authority, std::size_t longest_body)
    : owner_(owner),
      authority_(std::move(authority)),
      longest_body_(longest_body),
      parser_(std::make_unique<parser>()) {
  parser_->longest_body = longest_body_;
}

http1_connection::~http1_connection() {
  if (stream_ != nullptr) stream_->close();
}

void http1_connection::start(std::shared_ptr<http_stream> stream) { stream_ = std::move(stream); }

void http1_connection::add(http_exchange& exchange) {
  exchange_ = &exchange;
  set_connection(exchange, this);
  exchange.stream_ = 0;
  exchange.sent_ = 0;
  exchange.has_ended_ = exchange.has_status_ = false;
  is_sent_ = false;
  parser_->restart();
}

void http1_connection::write_head(const http_request& request, std::string& to) {
  (((to += request.method) += ' ') += request.path) += " HTTP/1.1\r\nHost: ";
  (to += authority_) += "\r\n";
  for (const http_header& each : request.headers) {
    (((to += each.name) += ": ") += each.value) += "\r\n";
  }
  if (!request.body.empty() || request.method != "GET") {
    (to += "Content-Length: ") += std::to_string(request.body.size());
    to += "\r\n";
  }
  to += "\r\n";
}

void http1_connection::on_writable(std::string& to) {
  if (exchange_ == nullptr || is_sent_) return;
  if (exchange_->stream_ == 0) {
    const http_request request = exchange_->prepare();
    exchange_->body_ = request.body;
    exchange_->stream_ = 1;
    write_head(request, to);
  }
  const std::string_view some = exchange_->body_.substr(exchange_->sent_, bytes_per_turn);
  to += some;
  exchange_->sent_ += some.size();
  is_sent_ = exchange_->sent_ == exchange_->body_.size();
}

void http1_connection::on_received(std::string_view some) {
  if (exchange_ == nullptr) return end(http_failure::kind::lost, "an answer to nothing came");
  parser_->unread += some;
  while (!is_closed_ && exchange_ != nullptr && !parser_->unread.empty()) {
    boost::system::error_code error;
    auto& answer = *parser_->answer;
    const std::size_t used = answer.put(boost::asio::buffer(parser_->unread), error);
    parser_->unread.erase(0, used);
    if (error == http::error::need_more) return;
    if (error) return end(http_failure::kind::malformed, "the answer is no HTTP: " + error.message());
    if (answer.is_done()) {
      if (answer.get().result_int() >= 200) return finish();
      const std::string rest = std::move(parser_->unread);  // behind an interim answer
      parser_->restart();
      parser_->unread = rest;
    }
  }
}

void http1_connection::finish() {
  const auto& message = parser_->answer->get();
  http_exchange& done = *std::exchange(exchange_, nullptr);
  done.has_ended_ = true;
  set_connection(done, nullptr);
  // Where a request was answered before it was all there, the rest would be taken for the next.
  if (!is_sent_ || !message.keep_alive() || !parser_->unread.empty()) takes_more_ = false;
  done.on_status(message.result_int());
  for (const auto& each : message) {
    std::string name(text_of(each.name_string()));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    done.on_header(name, text_of(each.value()));
  }
  idle_since = std::chrono::steady_clock::now();
  if (message.body().empty() || done.on_body(message.body())) {
    owner_.on_finished(*this, done);
  } else {
    owner_.on_failed(*this, done, {http_failure::kind::malformed, "the answer is too large"});
  }
  if (!takes_more_) {
    end(http_failure::kind::lost, "connection ended");
  } else {
    owner_.on_changed(*this);
  }
}

void http1_connection::abandon(http_exchange& exchange) {
  set_connection(exchange, nullptr);
  exchange_ = nullptr;
  // There is no way to take one back but to hang up.
  end(http_failure::kind::lost, "connection ended");
}

void http1_connection::retire() {
  takes_more_ = false;
  if (exchange_ == nullptr) end(http_failure::kind::lost, "connection ended");
}

void http1_connection::on_closed(const http_failure& why) {
  if (exchange_ != nullptr && parser_->answer && parser_->answer->got_some()) {
    boost::system::error_code error;
    parser_->answer->put_eof(error);
    if (!error && parser_->answer->is_done()) {
      takes_more_ = false;
      return finish();
    }
  }
  end(why.what, why.message);
}

void http1_connection::end(http_failure::kind what, const std::string& why) {
  if (std::exchange(is_closed_, true)) return;
  stream_->close();
  takes_more_ = false;
  if (http_exchange* const left = std::exchange(exchange_, nullptr)) {
    set_connection(*left, nullptr);
    if (left->stream_ == 0) {
      owner_.on_not_sent(*this, *left);
    } else {
      owner_.on_failed(*this, *left, {what, why});
    }
  }
  owner_.on_closed(*this, {what, why});
}

}  // namespace cppless::detail
