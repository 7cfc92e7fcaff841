// SPDX-License-Identifier: Apache-2.0
#include "http/client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace platform::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t answer_limit = 512ull << 20;

bool concerns_one_hop(std::string_view name) {
  return name == "connection" || name == "keep-alive" || name == "transfer-encoding" || name == "te" || name == "trailer" ||
         name == "upgrade" || name == "expect" || name == "content-length" || name == "proxy-connection";
}

asio::awaitable<bool> connect(beast::tcp_stream& peer, unsigned short port, std::chrono::milliseconds patience) {
  const tcp::endpoint where(asio::ip::address_v4::loopback(), port);
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto [failed] = co_await peer.async_connect(where, quietly);
    if (!failed) co_return true;
    if (std::chrono::steady_clock::now() > end) co_return false;
    asio::steady_timer pause(peer.get_executor(), std::chrono::milliseconds(50));
    co_await pause.async_wait(quietly);
  }
}

asio::awaitable<std::optional<response>> converse(unsigned short port, request message, std::chrono::milliseconds patience) {
  beast::tcp_stream peer(co_await asio::this_coro::executor);
  if (!co_await connect(peer, port, patience)) co_return std::nullopt;
  beast::http::request<beast::http::string_body> out;
  out.version(11);
  out.method_string(message.method);
  out.target(message.target);
  for (const header& each : message.headers)
    if (!concerns_one_hop(each.name)) out.insert(each.name, each.value);
  out.keep_alive(false);
  out.body() = std::move(message.body);
  out.prepare_payload();
  peer.expires_after(std::chrono::minutes(2));
  auto [unsent, sent] = co_await beast::http::async_write(peer, out, quietly);
  if (unsent) co_return std::nullopt;
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::string_body> in;
  in.body_limit(answer_limit);
  in.skip(message.method == "HEAD");
  auto [unread, read] = co_await beast::http::async_read(peer, buffer, in, quietly);
  if (unread) co_return std::nullopt;
  response answer{in.get().result_int(), {}, std::move(in.get().body())};
  for (const auto& field : in.get()) {
    std::string name(field.name_string());
    for (char& c : name) c = beast::detail::ascii_tolower(c);
    if (!concerns_one_hop(name) && name != "server" && name != "date") answer.headers.push_back({std::move(name), std::string(field.value())});
  }
  co_return answer;
}

}  // namespace

void send(asio::io_context& context, unsigned short port, request message, std::chrono::milliseconds patience,
          std::function<void(std::optional<response>)> call) {
  asio::co_spawn(
      context,
      [port, message = std::move(message), patience, call = std::move(call)]() mutable -> asio::awaitable<void> {
        call(co_await converse(port, std::move(message), patience));
      },
      asio::detached);
}

}  // namespace platform::http
