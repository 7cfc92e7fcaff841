// SPDX-License-Identifier: Apache-2.0
#include "http/head_parser.hpp"
#include "http/session.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <optional>

namespace platform::http {
namespace {

using need = request_parser::need;

std::string head_of(const response& answer, bool keep_alive) {
  std::string text = "HTTP/1.1 ";
  text += std::to_string(answer.status);
  text += ' ';
  text += reason_phrase(answer.status);
  text += "\r\n";
  for (const header& each : answer.headers) {
    text += each.name;
    text += ": ";
    text += each.value;
    text += "\r\n";
  }
  if (answer.status != 204 && answer.status != 304)
    text += "content-length: " + std::to_string(answer.body.size()) + "\r\n";
  text += keep_alive ? "\r\n" : "connection: close\r\n\r\n";
  return text;
}

/// Asks the service and waits for its answer; nothing if the service let the request drop.
asio::awaitable<std::optional<response>> ask(service& to, request message, asio::any_io_executor where) {
  using signature = void(std::optional<response>);
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, signature>(
      [&](auto handler) {
        struct pending {
          std::optional<decltype(handler)> waiting;
          asio::any_io_executor where;
          bool asking = true;
          void complete(std::optional<response> answer) {
            if (!waiting) return;
            auto call = std::move(*waiting);
            waiting.reset();
            // Inside the initiation the coroutine is not suspended yet.
            if (asking) {
              asio::post(where, [call = std::move(call), answer = std::move(answer)]() mutable {
                std::move(call)(std::move(answer));
              });
            } else {
              std::move(call)(std::move(answer));
            }
          }
          ~pending() {
            if (waiting)
              asio::post(where, [call = std::move(*waiting)]() mutable {
                std::move(call)(std::optional<response>());
              });
          }
        };
        auto state = std::make_shared<pending>(std::move(handler), where);
        to.serve(std::move(message), [state](response answer) { state->complete(std::move(answer)); });
        state->asking = false;
      },
      asio::use_awaitable);
}

class session {
 public:
  session(std::unique_ptr<stream> connection, std::shared_ptr<service> to, const patience& times,
          std::string read)
      : connection_(std::move(connection)), to_(std::move(to)), times_(times), read_(std::move(read)) {}

  asio::awaitable<void> run() {
    for (bool first = true;; first = false) {
      if (!first && read_.empty()) {
        connection_->expires_after(times_.idle);
        if (!co_await more()) co_return;
      }
      request_parser parser;
      const need got = co_await read_request(parser);
      if (got == need::more) co_return;
      if (got == need::refused) {
        response answer{parser.status(), {{"content-type", "text/plain"}}, std::string(parser.why())};
        co_await write(answer, false);
        co_return co_await connection_->finish();
      }
      const bool keep = parser.keep_alive();
      const bool head_only = parser.message().method == "HEAD";
      parser.message().encrypted = connection_->encrypted();
      connection_->expires_never();
      auto answer = co_await ask(*to_, std::move(parser.message()), connection_->executor());
      if (!answer) co_return;
      if (!co_await write(*answer, keep, head_only)) co_return;
      if (!keep) co_return co_await connection_->finish();
    }
  }

 private:
  /// done, refused, or more if the connection ended before.
  asio::awaitable<need> read_request(request_parser& parser) {
    connection_->expires_after(times_.head);
    for (;;) {
      std::string_view rest = read_;
      need got = parser.feed(rest);
      const bool stuck = rest.size() == read_.size();
      read_.erase(0, read_.size() - rest.size());
      if (got == need::head_done) {
        connection_->expires_after(times_.body);
        parser.limit_body(to_->body_limit(parser.message()));
        if (parser.expects_continue() && read_.empty() &&
            !co_await connection_->write(asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25)))
          co_return need::more;
        continue;
      }
      if (got != need::more) co_return got;
      if ((read_.empty() || stuck) && !co_await more()) co_return need::more;
    }
  }

  asio::awaitable<bool> more() {
    const std::size_t count = co_await connection_->read_some(chunk_);
    read_.append(chunk_.data(), count);
    co_return count > 0;
  }

  asio::awaitable<bool> write(const response& answer, bool keep_alive, bool head_only = false) {
    connection_->expires_after(times_.answer);
    const std::string head = head_of(answer, keep_alive);
    co_return co_await connection_->write(
        asio::buffer(head), head_only ? asio::const_buffer() : asio::buffer(answer.body));
  }

  std::unique_ptr<stream> connection_;
  std::shared_ptr<service> to_;
  patience times_;
  std::string read_;
  std::array<char, 65536> chunk_;
};

}  // namespace

asio::awaitable<void> serve_http1(std::unique_ptr<stream> connection, std::shared_ptr<service> to,
                                  patience times, std::string read) {
  auto served = std::make_unique<session>(std::move(connection), std::move(to), times, std::move(read));
  co_await served->run();
}

const char* reason_phrase(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 413: return "Payload Too Large";
    case 415: return "Unsupported Media Type";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return "";
  }
}

}  // namespace platform::http
