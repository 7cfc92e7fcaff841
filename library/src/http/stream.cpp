// SPDX-License-Identifier: Apache-2.0
#include "http/stream.hpp"

#include <netinet/tcp.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>

#include <utility>

namespace cppless::detail {
namespace {

namespace asio = boost::asio;

constexpr std::size_t buffer_size = 64 * 1024;
constexpr std::size_t record_size = 17 * 1024;
constexpr std::size_t longest_proxy_answer = 16 * 1024;

}  // namespace

http_stream::http_stream(asio::io_context& loop, http_origin origin,
                         std::optional<http_proxy> proxy, const tls_context* tls, user& owner)
    : origin_(std::move(origin)),
      proxy_(std::move(proxy)),
      socket_(loop),
      resolver_(loop),
      timer_(loop),
      tls_(origin_.is_tls ? tls : nullptr),
      user_(&owner),
      incoming_(new char[buffer_size]) {}

void http_stream::connect(std::chrono::nanoseconds timeout) {
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this(), timeout](const error_code& error) {
    if (error || self->phase_ == phase::open) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
    self->fail(http_failure::kind::unreachable,
               "no connection within " + std::to_string(seconds) + " s");
  });
  const std::string& host = proxy_ ? proxy_->host : origin_.host;
  const std::uint16_t port = proxy_ ? proxy_->port : origin_.port;
  error_code is_name;
  const asio::ip::address address = asio::ip::make_address(host, is_name);
  if (!is_name) {  // the resolver would start a thread for it
    using results = asio::ip::tcp::resolver::results_type;
    return on_resolved({}, results::create({address, port}, host, std::to_string(port)));
  }
  resolver_.async_resolve(host, std::to_string(port),
                          asio::ip::tcp::resolver::numeric_service,
                          [self = shared_from_this()](const error_code& error, const auto& found) {
                            self->on_resolved(error, found);
                          });
}

void http_stream::on_resolved(const error_code& error,
                              const asio::ip::tcp::resolver::results_type& found) {
  if (phase_ == phase::closed) return;
  if (error) {
    const std::string& host = proxy_ ? proxy_->host : origin_.host;
    return fail(http_failure::kind::unreachable, "the name " + host + " has no address: " +
                                                     error.message());
  }
  asio::async_connect(socket_, found,
                      [self = shared_from_this()](const error_code& failed, const auto&) {
                        self->on_tcp_connected(failed);
                      });
}

void http_stream::on_tcp_connected(const error_code& error) {
  if (phase_ == phase::closed) return;
  if (error) return fail(http_failure::kind::unreachable, error.message());
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  if (proxy_) {
    phase_ = phase::asking_proxy;
    const std::string target = origin_.host + ':' + std::to_string(origin_.port);
    outgoing_ = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
    if (!proxy_->authorization.empty()) {
      outgoing_ += "Proxy-Authorization: " + proxy_->authorization + "\r\n";
    }
    outgoing_ += "\r\n";
    send_raw();
  } else if (tls_ != nullptr) {
    start_tls();
  } else {
    open("");
  }
  if (phase_ != phase::closed) receive();
}

void http_stream::start_tls() {
  phase_ = phase::shaking_hands;
  session_.emplace(*tls_, origin_.host);
  decrypted_.reset(new char[record_size]);
  go_on_with_handshake();
}

void http_stream::open(std::string_view protocol) {
  phase_ = phase::open;
  timer_.cancel();
  user_->on_connected(protocol);
  flush();
}

void http_stream::receive() {
  socket_.async_read_some(asio::buffer(incoming_.get(), buffer_size),
                          [self = shared_from_this()](const error_code& error, std::size_t size) {
                            if (self->phase_ == phase::closed) return;
                            if (error) return self->fail(http_failure::kind::lost, error.message());
                            self->on_bytes({self->incoming_.get(), size});
                            if (self->phase_ != phase::closed) self->receive();
                          });
}

void http_stream::on_bytes(std::string_view some) {
  if (phase_ == phase::asking_proxy) return on_proxy_bytes(some);
  if (!session_) {
    user_->on_received(some);
  } else {
    session_->receive(some);
    if (phase_ == phase::shaking_hands) go_on_with_handshake();
    if (phase_ == phase::open) decrypt();
  }
  if (phase_ == phase::open) flush();
}

void http_stream::on_proxy_bytes(std::string_view some) {
  proxy_answer_ += some;
  const std::size_t end = proxy_answer_.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (proxy_answer_.size() > longest_proxy_answer) {
      fail(http_failure::kind::unreachable, "the proxy's answer to CONNECT is no HTTP");
    }
    return;
  }
  const std::string line = proxy_answer_.substr(0, proxy_answer_.find("\r\n"));
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line.compare(8, 2, " 2") != 0) {
    return fail(http_failure::kind::unreachable, "the proxy " + proxy_->host + ':' +
                                                     std::to_string(proxy_->port) +
                                                     " answered CONNECT with: " + line);
  }
  // Before TLS nothing may follow: the client speaks first.
  proxy_answer_.clear();
  start_tls();
}

void http_stream::go_on_with_handshake() {
  const tls_session::progress progress = session_->handshake();
  session_->take_output(outgoing_);  // also of a failed one: the alert tells the peer why
  send_raw();
  if (phase_ == phase::closed) return;
  if (progress == tls_session::progress::failed) {
    if (session_->is_untrusted()) {
      fail(http_failure::kind::untrusted, session_->failure());
    } else {
      fail(http_failure::kind::unreachable, "TLS failed: " + session_->failure());
    }
  } else if (progress == tls_session::progress::done) {
    open(session_->protocol());
  }
}

void http_stream::decrypt() {
  while (phase_ == phase::open) {
    const int size = session_->read(decrypted_.get(), record_size);
    if (size == 0) return;
    if (size < 0) return fail(http_failure::kind::lost, session_->failure());
    user_->on_received({decrypted_.get(), static_cast<std::size_t>(size)});
  }
}

// Gets bytes from the user into outgoing_, which is empty. False if there are none.
bool http_stream::fill() {
  if (!session_) {
    user_->on_writable(outgoing_);
  } else {
    plain_.clear();
    user_->on_writable(plain_);
    if (phase_ != phase::open) return false;
    if (!plain_.empty() && !session_->write(plain_)) {
      fail(http_failure::kind::lost, session_->failure());
      return false;
    }
    session_->take_output(outgoing_);
  }
  return !outgoing_.empty();
}

void http_stream::flush() {
  if (phase_ != phase::open || waits_to_send_ || is_flushing_) return;
  is_flushing_ = true;
  const auto self = shared_from_this();
  while (phase_ == phase::open && !waits_to_send_ && fill()) send_raw();
  is_flushing_ = false;
}

void http_stream::send_raw() {
  while (sent_ < outgoing_.size()) {
    error_code error;
    sent_ += socket_.write_some(
        asio::buffer(outgoing_.data() + sent_, outgoing_.size() - sent_), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      if (std::exchange(waits_to_send_, true)) return;
      socket_.async_wait(asio::ip::tcp::socket::wait_write,
                         [self = shared_from_this()](const error_code& failed) {
                           self->waits_to_send_ = false;
                           if (failed || self->phase_ == phase::closed) return;
                           self->send_raw();
                           self->flush();
                         });
      return;
    }
    // What the server sent before it closed may still be there to be read, and says more.
    if (error) break;
  }
  outgoing_.clear();
  sent_ = 0;
}

void http_stream::close() {
  if (phase_ == phase::closed) return;
  if (phase_ == phase::open && session_ && !waits_to_send_) {
    session_->shut_down();
    session_->take_output(outgoing_);
    send_raw();
  }
  phase_ = phase::closed;
  user_ = nullptr;
  error_code ignored;
  timer_.cancel();
  resolver_.cancel();
  socket_.close(ignored);
}

void http_stream::fail(http_failure::kind what, const std::string& why) {
  if (phase_ == phase::closed) return;
  const bool was_open = phase_ == phase::open;
  if (!was_open && what == http_failure::kind::lost) what = http_failure::kind::unreachable;
  const auto self = shared_from_this();
  user* const told = user_;
  close();
  told->on_closed({what, (was_open ? "the connection to " : "no connection to ") +
                             origin_.text() + (was_open ? " ended: " : ": ") + why});
}

}  // namespace cppless::detail
