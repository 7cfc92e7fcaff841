// SPDX-License-Identifier: Apache-2.0
#include "http/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>
#include <new>

#include <cppless/errors.hpp>

namespace cppless::detail {
namespace {

std::string last_error() {
  const unsigned long code = ::ERR_peek_last_error();
  ::ERR_clear_error();
  if (code == 0) return "the connection was closed";
  char text[256];
  ::ERR_error_string_n(code, text, sizeof text);
  const char* const reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : text;
}

bool is_address(const std::string& host) {
  in6_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

tls_context::tls_context(const std::string& ca_bundle, bool offers_http2)
    : context_(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free) {
  if (context_ == nullptr) throw rejected("OpenSSL could not be set up: " + last_error());
  ::SSL_CTX_set_min_proto_version(get(), TLS1_2_VERSION);
  ::SSL_CTX_set_verify(get(), SSL_VERIFY_PEER, nullptr);
  // Buffers of idle connections are given back: thousands of requests share few connections.
  ::SSL_CTX_set_mode(get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  if (ca_bundle.empty()) {
    ::SSL_CTX_set_default_verify_paths(get());
  } else if (::SSL_CTX_load_verify_file(get(), ca_bundle.c_str()) != 1) {
    throw rejected("the certificates in '" + ca_bundle + "' could not be read: " + last_error());
  }
  constexpr unsigned char both[] = "\2h2\10http/1.1";
  constexpr unsigned char http1[] = "\10http/1.1";
  if (offers_http2) {
    ::SSL_CTX_set_alpn_protos(get(), both, sizeof both - 1);
  } else {
    ::SSL_CTX_set_alpn_protos(get(), http1, sizeof http1 - 1);
  }
}

tls_session::tls_session(const tls_context& context, const std::string& host)
    : session_(::SSL_new(context.get()), &::SSL_free),
      in_(::BIO_new(::BIO_s_mem())),
      out_(::BIO_new(::BIO_s_mem())) {
  if (session_ == nullptr || in_ == nullptr || out_ == nullptr) throw std::bad_alloc();
  ::BIO_set_mem_eof_return(in_, -1);
  ::SSL_set_bio(session_.get(), in_, out_);  // owns both from here on
  ::SSL_set_connect_state(session_.get());
  if (is_address(host)) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session_.get()), host.c_str());
  } else {
    ::SSL_set_tlsext_host_name(session_.get(), host.c_str());
    ::SSL_set_hostflags(session_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ::SSL_set1_host(session_.get(), host.c_str());
  }
}

void tls_session::receive(std::string_view encrypted) {
  ::BIO_write(in_, encrypted.data(), static_cast<int>(encrypted.size()));
}

void tls_session::take_output(std::string& to) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(out_, &data);
  if (size <= 0) return;
  to.append(data, static_cast<std::size_t>(size));
  (void)BIO_reset(out_);
}

tls_session::progress tls_session::handshake() {
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(session_.get());
  if (result == 1) return progress::done;
  const int reason = ::SSL_get_error(session_.get(), result);
  return reason == SSL_ERROR_WANT_READ ? progress::going_on : progress::failed;
}

std::string_view tls_session::protocol() const {
  const unsigned char* data = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(session_.get(), &data, &size);
  return {reinterpret_cast<const char*>(data), size};
}

bool tls_session::write(std::string_view plain) {
  ::ERR_clear_error();
  while (!plain.empty()) {
    const int some = static_cast<int>(std::min<std::size_t>(plain.size(), INT_MAX));
    const int written = ::SSL_write(session_.get(), plain.data(), some);
    if (written <= 0) return false;
    plain.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int tls_session::read(char* to, std::size_t size) {
  ::ERR_clear_error();
  const int n = ::SSL_read(session_.get(), to, static_cast<int>(size));
  if (n > 0) return n;
  return ::SSL_get_error(session_.get(), n) == SSL_ERROR_WANT_READ ? 0 : -1;
}

void tls_session::shut_down() {
  if (::SSL_is_init_finished(session_.get()) == 1) ::SSL_shutdown(session_.get());
}

bool tls_session::is_untrusted() const {
  return ::SSL_get_verify_result(session_.get()) != X509_V_OK;
}

std::string tls_session::failure() const {
  const long verified = ::SSL_get_verify_result(session_.get());
  if (verified != X509_V_OK) return ::X509_verify_cert_error_string(verified);
  return last_error();
}

}  // namespace cppless::detail
