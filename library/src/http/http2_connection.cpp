// SPDX-License-Identifier: Apache-2.0
#include "http/http2_connection.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <utility>

namespace cppless::detail {
namespace {

constexpr std::size_t bytes_per_turn = 64 * 1024;
constexpr std::int32_t stream_window = 1 << 20;
constexpr std::int32_t connection_window = 16 << 20;

nghttp2_nv field(std::string_view name, std::string_view value, bool changes_always = false) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  unsigned flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  if (changes_always) flags |= NGHTTP2_NV_FLAG_NO_INDEX;
  return {bytes(name), bytes(value), name.size(), value.size(), static_cast<std::uint8_t>(flags)};
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

// What nghttp2 calls. `context` is the connection, the stream's user data the exchange.
struct http2_connection::callbacks {
  static http2_connection& self(void* context) { return *static_cast<http2_connection*>(context); }

  static http_exchange* exchange_of(nghttp2_session* session, std::int32_t stream) {
    return static_cast<http_exchange*>(::nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t read_body(nghttp2_session* session, std::int32_t stream, std::uint8_t* to,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*, void*) {
    http_exchange* const exchange = exchange_of(session, stream);
    if (exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // abandoned
    const std::string_view left = exchange->body_.substr(exchange->sent_);
    const std::size_t n = std::min(size, left.size());
    std::memcpy(to, left.data(), n);
    exchange->sent_ += n;
    if (n == left.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void*) {
    http_exchange* const exchange = exchange_of(session, frame->hd.stream_id);
    if (exchange == nullptr || frame->hd.type != NGHTTP2_HEADERS) return 0;
    const std::string_view key = text_of(name, name_size);
    const std::string_view text = text_of(value, value_size);
    if (key != ":status") {
      if (exchange->has_status_) exchange->on_header(key, text);
      return 0;
    }
    unsigned status = 0;
    std::from_chars(text.data(), text.data() + text.size(), status);
    if (status < 200) return 0;  // an interim answer: 100, 103
    exchange->has_status_ = true;
    exchange->on_status(status);
    return 0;
  }

  static int body(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                  const std::uint8_t* data, std::size_t size, void* context) {
    http_exchange* const exchange = exchange_of(session, stream);
    if (exchange == nullptr || exchange->on_body(text_of(data, size))) return 0;
    http2_connection& connection = self(context);
    connection.abandon(*exchange);
    connection.owner_.on_failed(connection, *exchange,
                                {http_failure::kind::malformed, "the answer is too large"});
    return 0;
  }

  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* context) {
    http2_connection& connection = self(context);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
          http_exchange* const exchange = exchange_of(session, frame->hd.stream_id);
          if (exchange != nullptr) exchange->has_ended_ = true;
        }
        break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
          connection.remote_streams_ = ::nghttp2_session_get_remote_settings(
              session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
          connection.has_settings_ = true;
          connection.has_changed_ = true;
        }
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) connection.waits_for_ping_ = false;
        break;
      case NGHTTP2_GOAWAY:
        connection.takes_more_ = false;
        connection.has_changed_ = true;
        break;
      default: break;
    }
    return 0;
  }

  static int stream_closed(nghttp2_session* session, std::int32_t stream, std::uint32_t code,
                           void* context) {
    self(context).stream_closed(stream, code, exchange_of(session, stream));
    return 0;
  }

  static nghttp2_session_callbacks* get() {
    static nghttp2_session_callbacks* const all = [] {
      nghttp2_session_callbacks* made = nullptr;
      if (::nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
      ::nghttp2_session_callbacks_set_on_header_callback(made, &header);
      ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &body);
      ::nghttp2_session_callbacks_set_on_frame_recv_callback(made, &frame_received);
      ::nghttp2_session_callbacks_set_on_stream_close_callback(made, &stream_closed);
      return made;
    }();
    return all;
  }
};

http2_connection::http2_connection(owner& owner, std::string authority, bool is_tls,
                                   const http2_settings& settings)
    : owner_(owner), authority_(std::move(authority)), is_tls_(is_tls), settings_(settings) {
  if (::nghttp2_session_client_new(&session_, callbacks::get(), this) != 0) throw std::bad_alloc();
  const std::array<nghttp2_settings_entry, 2> wishes{
      nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window}};
  ::nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, wishes.data(), wishes.size());
  ::nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, connection_window);
}

http2_connection::~http2_connection() {
  if (stream_ != nullptr) stream_->close();
  ::nghttp2_session_del(session_);
}

void http2_connection::start(std::shared_ptr<http_stream> stream) {
  stream_ = std::move(stream);
  heard_ = std::chrono::steady_clock::now();
}

std::size_t http2_connection::limit() const {
  return std::min(settings_.most_streams, remote_streams_);
}

std::size_t http2_connection::room() const {
  if (!takes_more_ || is_closed_) return 0;
  const std::size_t taken = in_flight();
  return taken < limit() ? limit() - taken : 0;
}

void http2_connection::add(http_exchange& exchange) {
  if (in_flight() == 0 && !waits_for_ping_) {
    // It may have been left long ago, behind a router that forgot it: that must show soon.
    const time_point now = std::chrono::steady_clock::now();
    if (now - heard_ > settings_.ping_timeout) {
      ::nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
      waits_for_ping_ = true;
      pinged_ = now;
    }
  }
  set_connection(exchange, this);
  exchange.stream_ = 0;
  exchange.sent_ = 0;
  exchange.has_ended_ = exchange.has_status_ = false;
  pending_.push_back(exchange);
}

void http2_connection::submit(http_exchange& exchange) {
  const http_request request = exchange.prepare();
  exchange.body_ = request.body;
  char* const length = length_.data();
  const auto [end, error] =
      std::to_chars(length, length + length_.size(), request.body.size());
  fields_.clear();
  fields_.push_back(field(":method", request.method));
  fields_.push_back(field(":scheme", is_tls_ ? "https" : "http"));
  fields_.push_back(field(":authority", authority_));
  fields_.push_back(field(":path", request.path));
  for (const http_header& each : request.headers) {
    fields_.push_back(field(each.name, each.value, each.changes_always));
  }
  if (!request.body.empty()) {
    fields_.push_back(
        field("content-length", {length, static_cast<std::size_t>(end - length)}));
  }
  nghttp2_data_provider body{};
  body.read_callback = &callbacks::read_body;
  exchange.stream_ =
      ::nghttp2_submit_request(session_, nullptr, fields_.data(), fields_.size(),
                               request.body.empty() ? nullptr : &body, &exchange);
}

void http2_connection::on_writable(std::string& to) {
  const std::size_t enough = to.size() + bytes_per_turn;
  while (to.size() < enough) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = ::nghttp2_session_mem_send(session_, &data);
    if (size < 0) {
      end(http_failure::kind::lost, ::nghttp2_strerror(static_cast<int>(size)));
      return;
    }
    if (size > 0) {
      to.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
      continue;
    }
    // More than the limit would make nghttp2 keep requests, and what their headers point to changes.
    if (pending_.empty() || active_.size() >= limit()) break;
    http_exchange* const next = pending_.pop_front();
    // Its headers go out with the next round, before anything they point to changes.
    submit(*next);
    if (next->stream_ > 0) {
      active_.push_back(*next);
    } else {
      // No stream numbers are left, or the server has said goodbye.
      takes_more_ = false;
      has_changed_ = true;
      set_connection(*next, nullptr);
      owner_.on_not_sent(*this, *next);
    }
  }
  close_if_done();
}

void http2_connection::on_received(std::string_view some) {
  heard_ = std::chrono::steady_clock::now();
  const ssize_t read = ::nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(some.data()), some.size());
  if (read < 0) {
    return end(http_failure::kind::malformed, std::string("what the server sent is no HTTP/2: ") +
                                                  ::nghttp2_strerror(static_cast<int>(read)));
  }
  if (!takes_more_ || in_flight() > limit()) give_back_pending();
  if (std::exchange(has_changed_, false)) owner_.on_changed(*this);
}

void http2_connection::stream_closed(std::int32_t, std::uint32_t code, http_exchange* exchange) {
  if (exchange == nullptr) return;  // abandoned
  take_off(*exchange);
  if (exchange->has_ended_ && exchange->has_status_) {
    owner_.on_finished(*this, *exchange);
  } else if (code == NGHTTP2_REFUSED_STREAM && !exchange->has_status_) {
    owner_.on_refused(*this, *exchange);
  } else {
    const bool is_malformed = code == NGHTTP2_PROTOCOL_ERROR;
    owner_.on_failed(*this, *exchange,
                     {is_malformed ? http_failure::kind::malformed : http_failure::kind::lost,
                      std::string("the answer was cut off: ") + ::nghttp2_http2_strerror(code)});
  }
}

// The exchange is no longer this connection's.
void http2_connection::take_off(http_exchange& exchange) {
  (exchange.stream_ == 0 ? pending_ : active_).remove(exchange);
  set_connection(exchange, nullptr);
  if (in_flight() == 0) idle_since = std::chrono::steady_clock::now();
}

void http2_connection::abandon(http_exchange& exchange) {
  const std::int32_t stream = exchange.stream_;
  take_off(exchange);
  if (stream == 0) return;
  ::nghttp2_session_set_stream_user_data(session_, stream, nullptr);
  ::nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void http2_connection::retire() {
  if (!std::exchange(takes_more_, false)) return;
  ::nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
  flush();
}

void http2_connection::look_after(time_point now) {
  if (is_closed_) return;
  if (waits_for_ping_) {
    if (now - pinged_ > settings_.ping_timeout) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(settings_.ping_timeout);
      end(http_failure::kind::lost,
          "the server did not answer a ping within " + std::to_string(seconds.count()) + " s");
    }
    return;
  }
  if (in_flight() == 0 || now - heard_ < settings_.ping_after) return;
  ::nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  waits_for_ping_ = true;
  pinged_ = now;
  flush();
}

void http2_connection::close_if_done() {
  if (is_closed_) return;
  const bool wants_nothing = ::nghttp2_session_want_read(session_) == 0 &&
                             ::nghttp2_session_want_write(session_) == 0;
  if (wants_nothing || (!takes_more_ && in_flight() == 0)) {
    end(http_failure::kind::lost, "HTTP/2 connection ended");
  }
}

void http2_connection::give_back_pending() {
  while (http_exchange* const each = pending_.pop_front()) {
    set_connection(*each, nullptr);
    owner_.on_not_sent(*this, *each);
  }
}

void http2_connection::on_closed(const http_failure& why) { end(why.what, why.message); }

// Gives back what is left: what was never sent may be sent elsewhere.
void http2_connection::end(http_failure::kind what, const std::string& why) {
  if (std::exchange(is_closed_, true)) return;
  stream_->close();
  takes_more_ = false;
  give_back_pending();
  while (http_exchange* const each = active_.pop_front()) {
    set_connection(*each, nullptr);
    ::nghttp2_session_set_stream_user_data(session_, each->stream_, nullptr);
    owner_.on_failed(*this, *each, {what, why});
  }
  owner_.on_closed(*this, {what, why});
}

}  // namespace cppless::detail
