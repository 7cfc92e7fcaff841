// SPDX-License-Identifier: Apache-2.0
#include "http/listener.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <stdexcept>
#include <string_view>

namespace platform::http {
namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class guess { http1, http2, unclear };

guess protocol_of(std::string_view start) {
  const std::size_t size = std::min(start.size(), preface.size());
  if (start.substr(0, size) != preface.substr(0, size)) return guess::http1;
  return start.size() >= preface.size() ? guess::http2 : guess::unclear;
}

}  // namespace

listener::listener(tcp::acceptor acceptor, deadlines& watch, std::shared_ptr<service> to, patience times,
                   boost::asio::ssl::context* tls)
    : acceptor_(std::move(acceptor)), watch_(watch), to_(std::move(to)), times_(times), tls_(tls) {}

void listener::start() {
  asio::co_spawn(
      acceptor_.get_executor(), [self = shared_from_this()] { return self->accept(); }, asio::detached);
}

void listener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

unsigned short listener::port() const { return acceptor_.local_endpoint().port(); }

asio::awaitable<void> listener::accept() {
  const auto self = shared_from_this();
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (!acceptor_.is_open() || error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors, say: others may end meanwhile
      asio::steady_timer pause(acceptor_.get_executor(), std::chrono::milliseconds(50));
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      continue;
    }
    asio::co_spawn(acceptor_.get_executor(), converse(std::move(socket), self), asio::detached);
  }
}

asio::awaitable<void> listener::converse(tcp::socket socket, std::shared_ptr<listener> self) {
  std::unique_ptr<stream> connection;
  bool h2 = false;
  if (self->tls_) {
    connection = co_await handshake(std::move(socket), *self->tls_, self->watch_, self->times_.handshake, h2);
    if (!connection) co_return;
  } else {
    connection = make_plain(std::move(socket), self->watch_);
  }
  const auto to = self->to_;
  const patience times = self->times_;
  std::string read;
  guess found = h2 ? guess::http2 : guess::unclear;
  connection->expires_after(times.idle);
  while (found == guess::unclear) {
    std::array<char, 4096> piece;
    const std::size_t count = co_await connection->read_some(piece);
    if (count == 0) co_return;
    read.append(piece.data(), count);
    found = protocol_of(read);
    connection->expires_after(times.head);
  }
  self.reset();
  if (found == guess::http2) co_await serve_http2(std::move(connection), to, times, std::move(read));
  else co_await serve_http1(std::move(connection), to, times, std::move(read));
}

tcp::acceptor listen_on_loopback(asio::io_context& context, unsigned short port) {
  tcp::acceptor made(context);
  const tcp::endpoint where(asio::ip::address_v4::loopback(), port);
  made.open(where.protocol());
  made.set_option(tcp::acceptor::reuse_address(true));
  boost::system::error_code failed;
  made.bind(where, failed);
  if (!failed) made.listen(4096, failed);
  if (failed) throw std::runtime_error("cannot listen on port " + std::to_string(port) + ": " + failed.message());
  return made;
}

tcp::acceptor adopt_listening(asio::io_context& context, int descriptor) {
  return tcp::acceptor(context, tcp::v4(), descriptor);
}

}  // namespace platform::http
