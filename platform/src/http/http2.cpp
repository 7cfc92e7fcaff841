// SPDX-License-Identifier: Apache-2.0
#include "http/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nghttp2/nghttp2.h>

#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace platform::http {
namespace {

constexpr std::uint32_t streams_at_once = 1024;
constexpr std::int32_t stream_window = 1 << 20;
constexpr std::int32_t connection_window = 64 << 20;
constexpr std::size_t head_limit = 64 * 1024;
// A peer that opens streams only to reset them (CVE-2023-44487) is cut off.
constexpr int resets_tolerated = 1000;

struct exchange {
  explicit exchange(std::int32_t number) : id(number) {}
  std::int32_t id;
  request message;
  std::size_t head_size = 0;
  std::size_t limit = 0;
  bool head_only = false;
  bool served = false;
  std::string answer;
  std::size_t sent = 0;
};

class session : public std::enable_shared_from_this<session> {
 public:
  session(std::unique_ptr<stream> connection, std::shared_ptr<service> to, const patience& times)
      : connection_(std::move(connection)), to_(std::move(to)), times_(times) {}
  ~session() { nghttp2_session_del(h2_); }

  asio::awaitable<void> run(std::string read) {
    open();
    connection_->expires_after(times_.head);
    if (!take(read.data(), read.size())) co_return;
    pump();
    while (nghttp2_session_want_read(h2_) || nghttp2_session_want_write(h2_)) {
      set_deadline();
      const std::size_t count = co_await connection_->read_some(chunk_);
      if (count == 0 || !take(chunk_.data(), count)) break;
      pump();
    }
    over_ = true;
    connection_->close();
  }

 private:
  void open() {
    nghttp2_session_callbacks* calls = nullptr;
    nghttp2_session_callbacks_new(&calls);
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_session_server_new(&h2_, calls, this);
    nghttp2_session_callbacks_del(calls);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_at_once},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, head_limit}};
    nghttp2_submit_settings(h2_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(h2_, NGHTTP2_FLAG_NONE, 0, connection_window);
  }

  bool take(const char* data, std::size_t size) {
    const auto used = nghttp2_session_mem_recv(h2_, reinterpret_cast<const std::uint8_t*>(data), size);
    if (used < 0) {
      pump();  // the GOAWAY that says what was wrong
      return false;
    }
    return resets_ <= resets_tolerated;
  }

  /// Whoever holds a request half sent has the time of a body; who only waits for us, any time.
  void set_deadline() {
    if (exchanges_.empty()) return connection_->expires_after(times_.idle);
    if (receiving_ > 0 || writing_) return connection_->expires_after(times_.body);
    connection_->expires_never();
  }

  void pump() {
    if (writing_ || over_) return;
    fill();
    if (out_.empty()) return;
    writing_ = true;
    asio::co_spawn(
        connection_->executor(),
        [self = shared_from_this()]() -> asio::awaitable<void> {
          while (!self->out_.empty() && !self->over_) {
            self->writing_now_.swap(self->out_);
            self->out_.clear();
            if (!co_await self->connection_->write(asio::buffer(self->writing_now_))) {
              self->over_ = true;
              self->connection_->close();
              break;
            }
            self->fill();
          }
          self->writing_ = false;
        },
        asio::detached);
  }

  void fill() {
    const std::uint8_t* data = nullptr;
    while (out_.size() < (256 << 10)) {
      const auto count = nghttp2_session_mem_send(h2_, &data);
      if (count <= 0) break;
      out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count));
    }
  }

  void serve(exchange& each) {
    --receiving_;
    each.served = true;
    each.message.encrypted = connection_->encrypted();
    each.head_only = each.message.method == "HEAD";
    struct ticket {
      ticket(std::shared_ptr<session> from, std::int32_t stream) : of(std::move(from)), id(stream) {}
      std::shared_ptr<session> of;
      std::int32_t id;
      bool used = false;
      ~ticket() {
        if (!used) of->abandon(id);
      }
    };
    auto held = std::make_shared<ticket>(shared_from_this(), each.id);
    to_->serve(std::move(each.message), [held](response answer) {
      if (std::exchange(held->used, true)) return;
      held->of->submit(held->id, std::move(answer));
    });
  }

  void abandon(std::int32_t id) {
    if (over_ || !exchanges_.contains(id)) return;
    nghttp2_submit_rst_stream(h2_, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
    pump_soon();
  }

  void submit(std::int32_t id, response answer) {
    const auto found = exchanges_.find(id);
    if (over_ || found == exchanges_.end()) return;
    exchange& each = found->second;
    each.answer = std::move(answer.body);
    const std::string status = std::to_string(answer.status);
    const std::string length = std::to_string(each.answer.size());
    std::vector<nghttp2_nv> fields;
    fields.reserve(answer.headers.size() + 2);
    const auto add = [&](std::string_view name, std::string_view value) {
      fields.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    };
    add(":status", status);
    for (header& one : answer.headers) {
      for (char& c : one.name)
        if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
      add(one.name, one.value);
    }
    if (answer.status != 204) add("content-length", length);
    nghttp2_data_provider body{};
    body.source.ptr = &each;
    body.read_callback = on_read;
    const bool bare = each.head_only || each.answer.empty();
    nghttp2_submit_response(h2_, id, fields.data(), fields.size(), bare ? nullptr : &body);
    pump_soon();
  }

  /// Inside nghttp2_session_mem_recv nothing may be sent; run() pumps after it.
  void pump_soon() {
    if (!receiving_now_) pump();
  }

  static session& self(void* user) { return *static_cast<session*>(user); }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    session& s = self(user);
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    s.exchanges_.try_emplace(frame->hd.stream_id, exchange(frame->hd.stream_id));
    ++s.receiving_;
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    session& s = self(user);
    const auto found = s.exchanges_.find(frame->hd.stream_id);
    if (found == s.exchanges_.end()) return 0;
    exchange& each = found->second;
    each.head_size += name_size + value_size + 32;
    if (each.head_size > head_limit) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":method") each.message.method = std::move(text);
    else if (key == ":path") each.message.target = std::move(text);
    else if (key == ":authority") each.message.headers.push_back({"host", std::move(text)});
    else if (key == "host" && each.message.has("host")) return 0;  // says the same as :authority
    else if (!key.starts_with(':')) each.message.headers.push_back({std::string(key), std::move(text)});
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user) {
    session& s = self(user);
    const auto found = s.exchanges_.find(id);
    if (found == s.exchanges_.end()) return 0;
    request& message = found->second.message;
    if (message.body_too_large) return 0;
    if (message.body.size() + size > found->second.limit) {
      message.body_too_large = true;
      message.body = {};
    } else {
      message.body.append(reinterpret_cast<const char*>(data), size);
    }
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    session& s = self(user);
    if (frame->hd.type == NGHTTP2_RST_STREAM) ++s.resets_;
    const auto found = s.exchanges_.find(frame->hd.stream_id);
    if (found == s.exchanges_.end()) return 0;
    exchange& each = found->second;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      each.limit = s.to_->body_limit(each.message);
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
      s.receiving_now_ = true;
      s.serve(each);
      s.receiving_now_ = false;
    }
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    session& s = self(user);
    const auto found = s.exchanges_.find(id);
    if (found == s.exchanges_.end()) return 0;
    if (!found->second.served) --s.receiving_;
    s.exchanges_.erase(found);
    return 0;
  }

  static ssize_t on_read(nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t size,
                         std::uint32_t* flags, nghttp2_data_source* source, void*) {
    exchange& each = *static_cast<exchange*>(source->ptr);
    const std::size_t count = std::min(size, each.answer.size() - each.sent);
    std::memcpy(into, each.answer.data() + each.sent, count);
    each.sent += count;
    if (each.sent == each.answer.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  std::unique_ptr<stream> connection_;
  std::shared_ptr<service> to_;
  patience times_;
  nghttp2_session* h2_ = nullptr;
  std::unordered_map<std::int32_t, exchange> exchanges_;
  int receiving_ = 0;  ///< requests that have not come whole
  int resets_ = 0;
  bool receiving_now_ = false;
  bool writing_ = false;
  bool over_ = false;
  std::string out_;
  std::string writing_now_;
  std::array<char, 65536> chunk_;
};

}  // namespace

asio::awaitable<void> serve_http2(std::unique_ptr<stream> connection, std::shared_ptr<service> to,
                                  patience times, std::string read) {
  auto served = std::make_shared<session>(std::move(connection), std::move(to), times);
  co_await served->run(std::move(read));
}

}  // namespace platform::http
