// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include "http/head_parser.hpp"
#include "http/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

/// Connections of the platform: whole sessions over a stream that is the input, and HTTP/1.1 requests
/// cut in pieces, which must not matter.
namespace {

namespace http = platform::http;
namespace asio = boost::asio;

class input_stream final : public http::stream {
 public:
  input_stream(http::deadlines& watch, asio::io_context& context, std::string_view input, std::size_t piece)
      : stream(watch), context_(context), input_(input), piece_(piece) {}
  asio::awaitable<std::size_t> read_some(std::span<char> into) override {
    const std::size_t count = std::min({into.size(), input_.size(), piece_});
    if (count == 0) co_return 0;
    std::memcpy(into.data(), input_.data(), count);
    input_.remove_prefix(count);
    co_return count;
  }
  asio::awaitable<bool> write(asio::const_buffer, asio::const_buffer) override { co_return true; }
  void close() override {}
  asio::awaitable<void> finish() override { co_return; }
  asio::any_io_executor executor() override { return context_.get_executor(); }
  bool encrypted() const override { return false; }

 private:
  asio::io_context& context_;
  std::string_view input_;
  std::size_t piece_;
};

class echo final : public http::service {
 public:
  std::size_t body_limit(const http::request&) const override { return 1000; }
  void serve(http::request message, http::responder respond) override {
    if (message.body.size() > 1000) fuzz::fail("a body above its limit");
    if (message.target.size() % 3 == 0) return;  // let drop
    respond({200, {{"Content-Type", "text/plain"}}, std::move(message.body)});
  }
};

void converse(std::string_view input, bool h2, std::size_t piece) {
  asio::io_context context;
  http::deadlines watch(context);
  auto connection = std::make_unique<input_stream>(watch, context, input, piece);
  auto serve = h2 ? http::serve_http2 : http::serve_http1;
  asio::co_spawn(context, serve(std::move(connection), std::make_shared<echo>(), http::patience{}, std::string()), asio::detached);
  context.run();
}

std::string parsed(std::string_view input, std::size_t piece) {
  using need = http::request_parser::need;
  http::request_parser parser;
  std::string waiting;
  while (!input.empty()) {
    waiting += input.substr(0, piece);
    input.remove_prefix(std::min(piece, input.size()));
    for (std::string_view rest = waiting; !rest.empty();) {
      const std::size_t before = rest.size();
      const need got = parser.feed(rest);
      if (got == need::head_done) parser.limit_body(100);
      if (got == need::refused) return "refused";
      if (got == need::done || got == need::head_done) {
        const http::request& m = parser.message();
        if (got == need::done) return m.method + " " + m.target + " " + std::to_string(m.headers.size()) + (m.body_too_large ? "!" : m.body);
      }
      waiting.erase(0, before - rest.size());
      rest = waiting;
      if (got == need::more && rest.size() == before) break;
    }
  }
  return "more";
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string get("\0\0\3\1\5\0\0\0\1\x82\x84\x86", 12);
  return {"\1GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\1POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
          "\3POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
          "\5POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx", std::string(1, '\0') + preface + settings + get};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t piece = kind % 16 < 8 ? 65536 : 1 + kind / 16;
  converse(input, kind % 2 == 0, piece);
  // Beyond a length the whole may be refused where pieces still wait.
  if (kind % 2 == 1 && size < 8192) {
    const std::string whole = parsed(input, 65536), pieces = parsed(input, 1 + kind / 16);
    if (whole != pieces && whole != "refused" && pieces != "refused") fail("pieces matter");
  }
}

}  // namespace fuzz
