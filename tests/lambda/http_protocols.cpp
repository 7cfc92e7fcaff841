// SPDX-License-Identifier: Apache-2.0
#include <nghttp2/nghttp2.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "http_connection.hpp"

namespace test {
namespace {

namespace http = boost::beast::http;

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

class http1 final : public protocol {
 public:
  explicit http1(connection& wire) : wire_(wire) {}

  void on_bytes(std::string_view bytes) override {
    unread_ += bytes;
    while (!is_busy_ && !unread_.empty()) {
      if (!parser_) {
        parser_.emplace();
        parser_->body_limit(64 << 20);
        parser_->eager(true);
      }
      boost::system::error_code error;
      unread_.erase(0, parser_->put(boost::asio::buffer(unread_), error));
      if (error == http::error::need_more) return;
      if (error) return wire_.close();
      if (parser_->is_done()) take_request();
    }
  }

 private:
  void take_request() {
    is_busy_ = true;
    auto& message = parser_->get();
    request taken{std::string(message.method_string()), std::string(message.target()), {},
                  std::move(message.body())};
    for (const auto& each : message) {
      taken.headers[lower(std::string(each.name_string()))] = std::string(each.value());
    }
    parser_.reset();
    wire_.take(std::move(taken), [this](const answer& given) { respond(given); });
  }

  void respond(const answer& given) {
    switch (given.spoilt) {
      case fault::none:
      case fault::truncate: break;
      case fault::never_answer: return;
      case fault::garbage:
        wire_.send("\1\2\3 this is no HTTP\r\n\r\n");
        return wire_.close_when_written();
      default: return wire_.close();
    }
    const bool is_truncated = given.spoilt == fault::truncate;
    std::string text = "HTTP/1.1 " + std::to_string(given.status) + " Some Reason\r\n";
    text += "Content-Length: " + std::to_string(given.body.size()) + "\r\n";
    for (const auto& [name, value] : given.headers) text += name + ": " + value + "\r\n";
    text += "\r\n";
    text += is_truncated ? given.body.substr(0, given.body.size() / 2) : given.body;
    wire_.send(text);
    if (is_truncated) return wire_.close_when_written();
    is_busy_ = false;
    on_bytes({});
  }

  connection& wire_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string unread_;
  bool is_busy_ = false;
};

class http2 final : public protocol {
 public:
  http2(connection& wire, std::uint32_t most_streams) : wire_(wire) {
    nghttp2_session_callbacks* callbacks = nullptr;
    ::nghttp2_session_callbacks_new(&callbacks);
    ::nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
    ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    ::nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
    ::nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_close);
    ::nghttp2_session_server_new(&session_, callbacks, this);
    ::nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry limit{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_streams};
    ::nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &limit, most_streams == 0 ? 0 : 1);
  }
  ~http2() override { ::nghttp2_session_del(session_); }

  void on_bytes(std::string_view bytes) override {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    is_reading_ = true;
    const ssize_t read = ::nghttp2_session_mem_recv(session_, data, bytes.size());
    is_reading_ = false;
    if (read < 0) return wire_.close();
    flush();
  }

 private:
  struct stream {
    request asked;
    std::string body;
    std::size_t sent = 0;
    bool is_truncated = false;
  };

  static http2& self(void* context) { return *static_cast<http2*>(context); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* context) {
    request& asked = self(context).streams_[frame->hd.stream_id].asked;
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":method") {
      asked.method = text;
    } else if (key == ":path") {
      asked.path = text;
    } else {
      asked.headers[key == ":authority" ? "host" : key] = text;
    }
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* context) {
    self(context).streams_[id].asked.body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* context) {
    const bool has_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!has_request || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    http2& of = self(context);
    const std::int32_t id = frame->hd.stream_id;
    if (id > of.last_stream_) return 0;  // as it said when it went away
    of.wire_.take(std::move(of.streams_[id].asked),
                  [&of, id](const answer& given) { of.respond(id, given); });
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* context) {
    self(context).streams_.erase(id);
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* context) {
    stream& of = self(context).streams_[id];
    const std::size_t most = of.is_truncated ? of.body.size() / 2 : of.body.size();
    const std::size_t n = std::min(size, most - of.sent);
    std::memcpy(to, of.body.data() + of.sent, n);
    of.sent += n;
    if (of.sent == most) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  void respond(std::int32_t id, const answer& given) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;  // the client has cancelled it
    switch (given.spoilt) {
      case fault::never_answer: return;
      case fault::close_connection: return wire_.close();
      case fault::garbage:
        wire_.send(std::string(64, '\xff'));
        return wire_.close_when_written();
      case fault::refuse_stream:
      case fault::reset_stream:
        ::nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id,
                                    given.spoilt == fault::refuse_stream ? NGHTTP2_REFUSED_STREAM
                                                                         : NGHTTP2_INTERNAL_ERROR);
        return flush();
      case fault::go_away_before:
        go_away(std::max(0, id - 2));
        return flush();
      default: break;
    }
    stream& of = found->second;
    of.body = given.body;
    of.is_truncated = given.spoilt == fault::truncate;
    std::vector<std::pair<std::string, std::string>> fields = {
        {":status", std::to_string(given.status)},
        {"content-length", std::to_string(given.body.size())}};
    for (const auto& [name, value] : given.headers) fields.emplace_back(lower(name), value);
    std::vector<nghttp2_nv> headers;
    for (auto& [name, value] : fields) {
      headers.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                         reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                         NGHTTP2_NV_FLAG_NONE});
    }
    nghttp2_data_provider body{};
    body.read_callback = &read_body;
    ::nghttp2_submit_response(session_, id, headers.data(), headers.size(), &body);
    if (given.spoilt == fault::go_away_after) {
      go_away(::nghttp2_session_get_last_proc_stream_id(session_));
    }
    flush();
  }

  void go_away(std::int32_t last) {
    last_stream_ = std::min(last_stream_, last);
    ::nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_stream_, NGHTTP2_NO_ERROR, nullptr, 0);
  }

  void flush() {
    if (is_reading_) return;  // nghttp2 may not be asked within its callbacks
    const std::uint8_t* data = nullptr;
    std::string out;
    for (ssize_t size; (size = ::nghttp2_session_mem_send(session_, &data)) > 0;) {
      out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    wire_.send(out);
  }

  connection& wire_;
  nghttp2_session* session_ = nullptr;
  bool is_reading_ = false;
  std::int32_t last_stream_ = std::numeric_limits<std::int32_t>::max();
  std::map<std::int32_t, stream> streams_;
};

}  // namespace

std::unique_ptr<protocol> protocol::make_http1(connection& wire) {
  return std::make_unique<http1>(wire);
}

std::unique_ptr<protocol> protocol::make_http2(connection& wire, std::uint32_t most_streams) {
  return std::make_unique<http2>(wire, most_streams);
}

}  // namespace test
