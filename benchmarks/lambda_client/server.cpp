// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <unordered_map>

#include "../../tests/lambda/http_server.hpp"
#include "answer.hpp"
#include "channel.hpp"

/// Answers every request with the same bytes, so that the client is the limit:
/// `bench_lambda_server CERTIFICATE_FILE` writes its certificate there, prints the port without TLS, that
/// with it (HTTP/2 on both, 1.1 where the client wants that) and one without TLS that takes requests
/// and never answers, and serves until its standard input ends.
namespace {

struct session {
  session(int descriptor, SSL* tls, bool answers) : wire(descriptor, tls), answers(answers) {}
  ~session() {
    if (http2 != nullptr) ::nghttp2_session_del(http2);
  }

  void begin_http2();
  void take(std::string_view bytes);
  void take_http1(std::string_view bytes);

  channel wire;
  const bool answers;
  nghttp2_session* http2 = nullptr;
  bool is_http1 = false;
  std::string unread;
};

ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t, std::uint32_t* flags,
                  nghttp2_data_source*, void*) {
  std::memcpy(to, bench::answer.data(), bench::answer.size());
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(bench::answer.size());
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

int on_frame(nghttp2_session* http2, const nghttp2_frame* frame, void* context) {
  if (frame->hd.type > NGHTTP2_HEADERS || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  if (!static_cast<session*>(context)->answers) return 0;
  static nghttp2_nv headers[] = {field(":status", "200"), field("content-type", "application/json")};
  nghttp2_data_provider body{};
  body.read_callback = &read_body;
  return ::nghttp2_submit_response(http2, frame->hd.stream_id, headers, 2, &body);
}

void session::begin_http2() {
  static nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    ::nghttp2_session_callbacks_new(&made);
    ::nghttp2_session_callbacks_set_on_frame_recv_callback(made, &on_frame);
    return made;
  }();
  ::nghttp2_session_server_new(&http2, callbacks, this);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 10000},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20}};
  ::nghttp2_submit_settings(http2, NGHTTP2_FLAG_NONE, settings, 2);
  ::nghttp2_session_set_local_window_size(http2, NGHTTP2_FLAG_NONE, 0, 1 << 28);
}

void session::take(std::string_view bytes) {
  if (http2 == nullptr && !is_http1) {
    is_http1 = !bytes.starts_with("PRI");
    if (!is_http1) begin_http2();
  }
  if (is_http1) return take_http1(bytes);
  ::nghttp2_session_mem_recv(http2, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
  const std::uint8_t* data = nullptr;
  std::string out;
  for (ssize_t n; (n = ::nghttp2_session_mem_send(http2, &data)) > 0;) {
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
  }
  wire.write(out);
}

void session::take_http1(std::string_view bytes) {
  unread += bytes;
  for (;;) {
    const std::size_t end = unread.find("\r\n\r\n");
    if (end == std::string::npos) return;
    std::size_t at = unread.find("ontent-");  // Content-Length, in either case
    while (at < end && std::strncmp(unread.c_str() + at + 8, "ength: ", 7) != 0) {
      at = unread.find("ontent-", at + 1);
    }
    const std::size_t length = at < end ? std::strtoul(unread.c_str() + at + 15, nullptr, 10) : 0;
    if (unread.size() < end + 4 + length) return;
    unread.erase(0, end + 4 + length);
    static const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                    "Content-Length: " + std::to_string(bench::answer.size()) +
                                    "\r\n\r\n";
    wire.write(head + std::string(bench::answer));
  }
}

int listen_somewhere(std::uint16_t& port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::listen(made, 1024);
  socklen_t size = sizeof address;
  ::getsockname(made, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return made;
}

int choose(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
           unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  const int result = ::SSL_select_next_proto(
      &found, size, reinterpret_cast<const unsigned char*>("\2h2\10http/1.1"), 12, offered,
      offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

SSL_CTX* make_context(const char* file) {
  const test::certificate made = test::make_certificate();
  std::ofstream(file) << made.pem;
  const std::string key = std::string(file) + ".key";
  std::ofstream(key) << made.key_pem;
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_server_method());
  ::SSL_CTX_use_certificate_chain_file(context, file);
  ::SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM);
  ::SSL_CTX_set_alpn_select_cb(context, &choose, nullptr);
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  SSL_CTX* const context = make_context(argv[1]);
  std::uint16_t plain_port = 0;
  std::uint16_t tls_port = 0;
  std::uint16_t silent_port = 0;
  const int plain = listen_somewhere(plain_port);
  const int secure = listen_somewhere(tls_port);
  const int silent = listen_somewhere(silent_port);
  std::printf("%u %u %u\n", plain_port, tls_port, silent_port);
  std::fflush(stdout);
  const int events = ::epoll_create1(0);
  const auto watch = [events](int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    ::epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event);
  };
  for (const int each : {0, plain, secure, silent}) watch(each);
  std::unordered_map<int, std::unique_ptr<session>> sessions;
  for (;;) {
    epoll_event ready[64];
    const int n = ::epoll_wait(events, ready, 64, -1);
    for (int i = 0; i < n; ++i) {
      const int descriptor = ready[i].data.fd;
      if (descriptor == 0) return 0;
      if (descriptor == plain || descriptor == secure || descriptor == silent) {
        const int accepted = ::accept(descriptor, nullptr, nullptr);
        const int yes = 1;
        ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        SSL* const tls = descriptor == secure ? ::SSL_new(context) : nullptr;
        if (tls != nullptr) ::SSL_set_accept_state(tls);
        sessions[accepted] = std::make_unique<session>(accepted, tls, descriptor != silent);
        watch(accepted);
        continue;
      }
      session& of = *sessions[descriptor];
      const bool is_open = of.wire.receive([&](std::string_view bytes) { of.take(bytes); });
      of.wire.flush();
      while (is_open && of.wire.has_unsent()) of.wire.wait(), of.wire.flush();
      if (!is_open) sessions.erase(descriptor);
    }
  }
}
