// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cppless::detail {

/// What all TLS connections of a client share: trusted authorities and protocols to offer.
/// TLS 1.2 or newer; the server's certificate and name are verified, always.
class tls_context {
 public:
  /// `ca_bundle`: a file of certificates (PEM) to trust instead of the system's; empty: the
  /// system's. `offers_http2`: by ALPN. Throws `rejected`.
  tls_context(const std::string& ca_bundle, bool offers_http2);

  SSL_CTX* get() const noexcept { return context_.get(); }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
};

/// One TLS connection as a client, between buffers in memory.
class tls_session {
 public:
  tls_session(const tls_context& context, const std::string& host);

  /// Takes bytes from the network.
  void receive(std::string_view encrypted);
  /// Appends what is to go to the network to `to`.
  void take_output(std::string& to);

  enum class progress { going_on, done, failed };
  progress handshake();
  /// "h2", "http/1.1" or "" once the handshake is done.
  std::string_view protocol() const;

  /// Encrypts. False if the session is broken.
  bool write(std::string_view plain);
  /// Decrypts into `to`: the number of bytes, 0 if there are none now, -1 if the session has ended
  /// or is broken.
  int read(char* to, std::size_t size);
  void shut_down();

  /// Whether the peer's certificate was what failed.
  bool is_untrusted() const;
  std::string failure() const;

 private:
  std::unique_ptr<SSL, void (*)(SSL*)> session_;
  BIO* in_;
  BIO* out_;
};

}  // namespace cppless::detail
