// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "answer.hpp"
#include "channel.hpp"
#include "lambda/signature.hpp"
#include "measure.hpp"

/// nghttp2 driven by hand over one connection, each request signed, answers only compared: the
/// ceiling of what a client of this library can reach. `bench_lambda_by_hand PORT tls|plain IN_FLIGHT
/// COUNT [once]` prints what bench_lambda_ours does.
namespace {

using namespace cppless::detail;

struct client {
  nghttp2_session* session = nullptr;
  request_signer signer{"us-east-1", "lambda"};
  std::string path = "/2015-03-31/functions/by-hand-0123456789abcdef/invocations";
  request_signer::kind kind{"POST", path,
                            {{"host", "127.0.0.1:1234"},
                             {"content-type", "application/json"},
                             {"x-amz-invocation-type", "RequestResponse"}}};
  std::string body = '"' + std::string(268, 'x') + '"';
  std::size_t sent = 0;
  std::size_t done = 0;
  std::size_t right = 0;  ///< Bytes of answers.
  std::size_t count = 0;
};

nghttp2_nv field(std::string_view name, std::string_view value, int flags = 0) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          static_cast<std::uint8_t>(flags | NGHTTP2_NV_FLAG_NO_COPY_NAME)};
}

ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t, std::uint32_t* flags,
                  nghttp2_data_source* source, void*) {
  const auto& body = *static_cast<const std::string*>(source->ptr);
  std::memcpy(to, body.data(), body.size());
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(body.size());
}

void submit(client& of) {
  of.signer.set_time(std::chrono::system_clock::now());
  of.body[1 + of.sent % (of.body.size() - 2)] ^= 1;
  const std::string_view authorization = of.signer.sign(of.kind, sha256::of(of.body));
  const nghttp2_nv headers[] = {field(":method", "POST"),
                                field(":scheme", "http"),
                                field(":authority", "127.0.0.1:1234"),
                                field(":path", of.path),
                                field("content-type", "application/json"),
                                field("x-amz-invocation-type", "RequestResponse"),
                                field("x-amz-date", of.signer.date()),
                                field("authorization", authorization, NGHTTP2_NV_FLAG_NO_INDEX)};
  nghttp2_data_provider body{};
  body.source.ptr = &of.body;
  body.read_callback = &read_body;
  ::nghttp2_submit_request(of.session, nullptr, headers, 8, &body, nullptr);
  ++of.sent;
}

int on_close(nghttp2_session*, std::int32_t, std::uint32_t, void* context) {
  client& of = *static_cast<client*>(context);
  ++of.done;
  if (of.sent < of.count) submit(of);
  return 0;
}

int on_body(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data, std::size_t size,
            void* context) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  // An answer may come in pieces.
  if (bench::answer.find(body) != bench::answer.npos) static_cast<client*>(context)->right += size;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const bench::stopwatch since_start;
  const bool is_once = argc > 5;
  const bool is_tls = std::strcmp(argv[2], "tls") == 0;
  const std::size_t in_flight = std::strtoul(argv[3], nullptr, 10);
  const std::size_t count = std::strtoul(argv[4], nullptr, 10);
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  SSL* tls = nullptr;
  if (is_tls) {
    SSL_CTX* const context = ::SSL_CTX_new(::TLS_client_method());
    ::SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>("\2h2"), 3);
    tls = ::SSL_new(context);
    ::SSL_set_connect_state(tls);
  }
  channel wire(descriptor, tls);
  client of;
  if (is_once) of.body = '"' + std::string(12, 'x') + '"';
  of.signer.use({"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", {}});
  nghttp2_session_callbacks* callbacks = nullptr;
  ::nghttp2_session_callbacks_new(&callbacks);
  ::nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_close);
  ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_body);
  ::nghttp2_session_client_new(&of.session, callbacks, &of);
  ::nghttp2_submit_settings(of.session, NGHTTP2_FLAG_NONE, nullptr, 0);
  ::nghttp2_session_set_local_window_size(of.session, NGHTTP2_FLAG_NONE, 0, 1 << 28);
  if (tls != nullptr) {
    ::SSL_do_handshake(tls);
    while (::SSL_is_init_finished(tls) == 0) {
      wire.flush();
      wire.wait();
      wire.receive([](std::string_view) {});
      ::SSL_do_handshake(tls);
    }
  }
  const auto round = [&](std::size_t rounds) {
    of.sent = of.done = of.right = 0;
    of.count = rounds;
    while (of.sent < std::min(in_flight, rounds)) submit(of);
    std::string out;
    while (of.done < rounds) {
      const std::uint8_t* data = nullptr;
      // Not all at once: the server is to begin meanwhile.
      for (ssize_t n; out.size() < 64 * 1024 &&
                      (n = ::nghttp2_session_mem_send(of.session, &data)) > 0;) {
        out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
      }
      wire.write(out);
      out.clear();
      wire.flush();
      if (::nghttp2_session_want_write(of.session) == 0 || wire.has_unsent()) wire.wait();
      const bool is_open = wire.receive([&](std::string_view bytes) {
        ::nghttp2_session_mem_recv(of.session, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                   bytes.size());
      });
      if (!is_open) std::exit(1);
    }
    if (of.right != rounds * bench::answer.size()) {
      std::fprintf(stderr, "there are wrong answers\n");
      std::exit(1);
    }
  };
  round(in_flight);
  if (is_once) return since_start.print_ms(), 0;
  const bench::stopwatch since_warm;
  round(count);
  since_warm.print(count);
}
