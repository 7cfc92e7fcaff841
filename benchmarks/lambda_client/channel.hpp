// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

/// Bytes over a socket, with TLS or without, nothing between: for the programs that show what the
/// protocol itself costs.
class channel {
 public:
  channel(int descriptor, SSL* tls) : descriptor_(descriptor), tls_(tls) {
    ::fcntl(descriptor_, F_SETFL, O_NONBLOCK);
    if (tls_ == nullptr) return;
    in_ = ::BIO_new(::BIO_s_mem());
    out_ = ::BIO_new(::BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    ::SSL_set_bio(tls_, in_, out_);
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel() {
    if (tls_ != nullptr) ::SSL_free(tls_);
    ::close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  bool has_unsent() const { return sent_ < out_text_.size(); }

  /// Hands what can be read to `take`. False once the connection has ended.
  template <class Take>
  bool receive(Take take) {
    for (;;) {
      const ssize_t n = ::recv(descriptor_, buffer_, sizeof buffer_, 0);
      if (n == 0) return false;
      if (n < 0) return errno == EAGAIN;
      if (tls_ == nullptr) {
        take(std::string_view(buffer_, static_cast<std::size_t>(n)));
      } else {
        ::BIO_write(in_, buffer_, static_cast<int>(n));
        if (!decrypt(take)) return false;
      }
      if (n < static_cast<ssize_t>(sizeof buffer_)) return true;
    }
  }

  void write(std::string_view plain) {
    if (tls_ == nullptr) {
      out_text_ += plain;
    } else {
      for (; !plain.empty(); plain.remove_prefix(16384 < plain.size() ? 16384 : plain.size())) {
        ::SSL_write(tls_, plain.data(), static_cast<int>(16384 < plain.size() ? 16384 : plain.size()));
      }
      take_encrypted();
    }
  }

  void flush() {
    take_encrypted();
    while (has_unsent()) {
      const ssize_t n = ::send(descriptor_, out_text_.data() + sent_, out_text_.size() - sent_,
                               MSG_NOSIGNAL);
      if (n < 0) return;
      sent_ += static_cast<std::size_t>(n);
    }
    out_text_.clear();
    sent_ = 0;
  }

  /// Sleeps until there is something to read, or room to write.
  void wait() {
    pollfd what{descriptor_, static_cast<short>(POLLIN | (has_unsent() ? POLLOUT : 0)), 0};
    ::poll(&what, 1, -1);
  }

 private:
  template <class Take>
  bool decrypt(Take take) {
    for (;;) {
      const int n = ::SSL_read(tls_, plain_, sizeof plain_);
      if (n <= 0) return ::SSL_get_error(tls_, n) == SSL_ERROR_WANT_READ;
      take(std::string_view(plain_, static_cast<std::size_t>(n)));
    }
  }

  void take_encrypted() {
    if (tls_ == nullptr) return;
    char* data = nullptr;
    const long n = BIO_get_mem_data(out_, &data);
    if (n <= 0) return;
    out_text_.append(data, static_cast<std::size_t>(n));
    (void)BIO_reset(out_);
  }

  int descriptor_;
  SSL* tls_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  std::string out_text_;
  std::size_t sent_ = 0;
  char buffer_[64 * 1024];
  char plain_[17 * 1024];
};
