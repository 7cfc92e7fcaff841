// SPDX-License-Identifier: Apache-2.0
#include "http/head_parser.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http.hpp>

#include <array>

namespace platform::http {

namespace beast = boost::beast;

namespace {
constexpr std::uint32_t head_limit = 64 * 1024;
constexpr std::size_t header_count_limit = 200;
}  // namespace

struct request_parser::state {
  beast::http::request_parser<beast::http::buffer_body> parser;
  request message;
  std::array<char, 65536> piece;
  std::size_t limit = 0;
  bool head_seen = false;
  unsigned status = 400;
  std::string why;

  state() {
    parser.header_limit(head_limit);
    parser.body_limit(boost::none);
    parser.eager(false);
  }

  need refuse(unsigned code, std::string text) {
    status = code;
    why = std::move(text);
    return need::refused;
  }

  need take_head() {
    auto& head = parser.get();
    message.method.assign(head.method_string());
    message.target.assign(head.target());
    for (const auto& field : head) {
      if (message.headers.size() == header_count_limit)
        return refuse(431, "more than 200 header fields");
      header copy{std::string(field.name_string()), std::string(field.value())};
      for (char& c : copy.name) c = beast::detail::ascii_tolower(c);
      message.headers.push_back(std::move(copy));
    }
    head_seen = true;
    return need::head_done;
  }

  need take_body(std::string_view& data) {
    while (!parser.is_done()) {
      // Beast asserts that much once it saw the last chunk begin; no chunked body ends with less.
      if (parser.chunked() && data.size() < 5) return need::more;
      auto& body = parser.get().body();
      body.data = piece.data();
      body.size = piece.size();
      beast::error_code error;
      const std::size_t used = parser.put({data.data(), data.size()}, error);
      data.remove_prefix(used);
      const std::size_t got = piece.size() - parser.get().body().size;
      if (message.body.size() + got > limit) {
        message.body_too_large = true;
        message.body = {};
        limit = 0;
      } else if (!message.body_too_large) {
        message.body.append(piece.data(), got);
      }
      if (error == beast::http::error::need_more) return need::more;
      if (error && error != beast::http::error::need_buffer) return refuse(400, error.message());
      if (used == 0 && got == 0 && !parser.is_done()) return need::more;
    }
    return need::done;
  }
};

request_parser::request_parser() : state_(std::make_unique<state>()) {}
request_parser::~request_parser() = default;
request_parser::request_parser(request_parser&&) noexcept = default;
request_parser& request_parser::operator=(request_parser&&) noexcept = default;

request_parser::need request_parser::feed(std::string_view& data) {
  state& s = *state_;
  if (!s.head_seen) {
    beast::error_code error;
    const std::size_t used = s.parser.put({data.data(), data.size()}, error);
    data.remove_prefix(used);
    if (error && error != beast::http::error::need_more)
      return s.refuse(error == beast::http::error::header_limit ? 431 : 400, error.message());
    if (!s.parser.is_header_done()) return need::more;
    return s.take_head();
  }
  return s.take_body(data);
}

void request_parser::limit_body(std::size_t bytes) {
  state_->limit = bytes;
  const auto length = state_->parser.content_length();
  if (length && *length <= bytes) state_->message.body.reserve(std::min<std::size_t>(*length, 1 << 20));
}

request& request_parser::message() { return state_->message; }
bool request_parser::keep_alive() const { return state_->parser.get().keep_alive(); }
bool request_parser::expects_continue() const {
  return beast::iequals(state_->parser.get()[beast::http::field::expect], "100-continue");
}
unsigned request_parser::status() const { return state_->status; }
std::string_view request_parser::why() const { return state_->why; }

}  // namespace platform::http
