// SPDX-License-Identifier: Apache-2.0
#include "lambda/runtime_reply.hpp"

// Beast asserts that a last chunk which was once incomplete has five bytes when it is looked at
// again; one that comes byte by byte has four ("0\r\n\r") and is read rightly.
#define BOOST_DISABLE_ASSERTS
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>

#include <cppless/errors.hpp>

namespace cppless::detail {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

constexpr std::uint32_t most_header = 64 * 1024;

bool is_path_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_';
}

}  // namespace

class runtime_reply_reader::parser final : public http::basic_parser<false> {
 public:
  parser() {
    eager(true);
    header_limit(most_header);
    body_limit(most_lambda_payload);
  }

  runtime_reply reply;
  std::string fault;

 private:
  void on_request_impl(http::verb, boost::beast::string_view, boost::beast::string_view, int,
                       error_code&) override {}

  void on_response_impl(int code, boost::beast::string_view, int, error_code&) override {
    reply.status = static_cast<unsigned>(code);
  }

  void on_field_impl(http::field, boost::beast::string_view name, boost::beast::string_view value,
                     error_code& ec) override {
    if (boost::beast::iequals(name, "lambda-runtime-aws-request-id")) {
      constexpr std::size_t most = 128;
      if (value.empty() || value.size() > most ||
          !std::all_of(value.begin(), value.end(), is_path_character)) {
        fault = "its request id has " + std::to_string(value.size()) + " characters; 1 to " +
                std::to_string(most) + " of a-z A-Z 0-9 - _ are allowed";
        ec = http::make_error_code(http::error::bad_value);
        return;
      }
      reply.request_id.assign(value.data(), value.size());
    } else if (boost::beast::iequals(name, "lambda-runtime-trace-id")) {
      reply.trace_id.assign(value.data(), value.size());
    } else if (boost::beast::iequals(name, "lambda-runtime-deadline-ms")) {
      std::from_chars(value.data(), value.data() + value.size(), reply.deadline_ms);
    }
  }

  void on_header_impl(error_code&) override {}

  void on_body_init_impl(const boost::optional<std::uint64_t>& size, error_code&) override {
    if (size) reply.body.reserve(std::min<std::uint64_t>(*size, most_lambda_payload));
  }

  std::size_t on_body_impl(boost::beast::string_view text, error_code&) override {
    reply.body.append(text.data(), text.size());
    return text.size();
  }

  void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view text,
                                 error_code& ec) override {
    return on_body_impl(text, ec);
  }

  void on_finish_impl(error_code&) override {}
};

namespace {

[[noreturn]] void complain(const error_code& ec, const std::string& fault) {
  std::string text = "malformed answer of the Runtime API: ";
  if (ec == http::error::body_limit) {
    text = "the request is larger than " + std::to_string(most_lambda_payload) + " bytes, the limit";
  } else if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
    text += "its header is larger than " + std::to_string(most_header) + " bytes, the limit";
  } else if (ec == http::error::partial_message || ec == http::error::end_of_stream) {
    text += "the connection was closed before its end";
  } else {
    text += fault.empty() ? ec.message() : fault;
  }
  throw rejected(text);
}

}  // namespace

runtime_reply_reader::runtime_reply_reader() : parser_(std::make_unique<parser>()) {}
runtime_reply_reader::~runtime_reply_reader() = default;

std::size_t runtime_reply_reader::put(std::span<const char> input) {
  std::size_t used = 0;
  while (used != input.size() && !parser_->is_done()) {
    error_code ec;
    const std::size_t some =
        parser_->put(boost::asio::const_buffer(input.data() + used, input.size() - used), ec);
    used += some;
    if (ec == http::error::need_more) break;
    if (ec) complain(ec, parser_->fault);
    if (some == 0) break;
  }
  if (used < input.size() && input.size() - used > most_header && !parser_->is_done()) {
    complain(http::make_error_code(http::error::header_limit), {});
  }
  if (parser_->is_done()) parser_->reply.keeps_connection = parser_->keep_alive();
  return used;
}

void runtime_reply_reader::put_end() {
  error_code ec;
  if (!parser_->got_some()) complain(http::make_error_code(http::error::partial_message), {});
  parser_->put_eof(ec);
  if (ec) complain(ec, parser_->fault);
  parser_->reply.keeps_connection = false;
}

bool runtime_reply_reader::is_done() const { return parser_->is_done(); }
const runtime_reply& runtime_reply_reader::reply() const { return parser_->reply; }
runtime_reply& runtime_reply_reader::reply() { return parser_->reply; }

}  // namespace cppless::detail
