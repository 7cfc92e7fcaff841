// SPDX-License-Identifier: Apache-2.0
#include "http/stream.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>

namespace platform::http {
namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t drained_at_most = 256 << 20;

template <class Socket>
class stream_of final : public stream {
 public:
  stream_of(deadlines& watch, Socket socket) : stream(watch), socket_(std::move(socket)) {
    boost::system::error_code ignored;
    socket_.lowest_layer().set_option(tcp::no_delay(true), ignored);
  }

  asio::awaitable<std::size_t> read_some(std::span<char> into) override {
    auto [error, count] =
        co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), quietly);
    co_return error ? 0 : count;
  }

  asio::awaitable<bool> write(asio::const_buffer first, asio::const_buffer second) override {
    const std::array<asio::const_buffer, 2> both{first, second};
    auto [error, count] = co_await asio::async_write(socket_, both, quietly);
    co_return !error;
  }

  void close() override {
    boost::system::error_code ignored;
    socket_.lowest_layer().close(ignored);
  }

  asio::awaitable<void> finish() override {
    expires_after(std::chrono::seconds(5));
    boost::system::error_code ignored;
    if constexpr (!std::is_same_v<Socket, tcp::socket>) {
      // Without waiting for the peer's own: who is gone would hold us up.
      SSL_shutdown(socket_.native_handle());
    }
    socket_.lowest_layer().shutdown(tcp::socket::shutdown_send, ignored);
    std::array<char, 65536> away;
    for (std::size_t total = 0; total < drained_at_most;) {
      auto [error, count] = co_await plain().async_read_some(asio::buffer(away), quietly);
      if (error) break;
      total += count;
    }
    close();
  }

  asio::any_io_executor executor() override { return socket_.get_executor(); }
  bool encrypted() const override { return !std::is_same_v<Socket, tcp::socket>; }

  tcp::socket& plain() {
    if constexpr (std::is_same_v<Socket, tcp::socket>) return socket_;
    else return socket_.next_layer();
  }

  Socket socket_;
};

using tls_stream = stream_of<asio::ssl::stream<tcp::socket>>;

}  // namespace

deadlines::deadlines(asio::io_context& context)
    : timer_(std::make_unique<asio::steady_timer>(context)) {}

void deadlines::start() {
  timer_->expires_after(std::chrono::milliseconds(250));
  timer_->async_wait([this](boost::system::error_code error) {
    if (error) return;
    sweep();
    start();
  });
}

void deadlines::stop() { timer_->cancel(); }

void deadlines::sweep() {
  const auto now = stream::clock::now();
  for (stream* each : streams_)
    if (each->deadline_ < now) each->close();
}

void deadlines::close_all() {
  for (stream* each : streams_) each->close();
}

stream::stream(deadlines& watch) : watch_(watch) { watch_.streams_.insert(this); }
stream::~stream() { watch_.streams_.erase(this); }

std::unique_ptr<stream> make_plain(tcp::socket socket, deadlines& watch) {
  return std::make_unique<stream_of<tcp::socket>>(watch, std::move(socket));
}

asio::awaitable<std::unique_ptr<stream>> handshake(tcp::socket socket, asio::ssl::context& context,
                                                   deadlines& watch, std::chrono::milliseconds limit,
                                                   bool& h2) {
  auto made = std::make_unique<tls_stream>(
      watch, asio::ssl::stream<tcp::socket>(std::move(socket), context));
  made->expires_after(limit);
  auto [error] = co_await made->socket_.async_handshake(asio::ssl::stream_base::server, quietly);
  if (error) co_return nullptr;
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(made->socket_.native_handle(), &name, &length);
  h2 = std::string_view(reinterpret_cast<const char*>(name), length) == "h2";
  co_return made;
}

}  // namespace platform::http
