// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cppless::detail {

// The plain functions are what OpenSSL 3 calls deprecated; its replacements allocate and look
// algorithms up by name, which takes longer than hashing what a request needs hashed.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using sha256_digest = std::array<unsigned char, 32>;

/// A hash under way. A copy of it goes on from the same point.
class sha256 {
 public:
  sha256() noexcept { ::SHA256_Init(&state_); }

  sha256& add(const void* data, std::size_t size) noexcept {
    ::SHA256_Update(&state_, data, size);
    return *this;
  }
  sha256& add(std::string_view text) noexcept { return add(text.data(), text.size()); }

  sha256_digest finish() noexcept {
    sha256_digest digest;
    ::SHA256_Final(digest.data(), &state_);
    return digest;
  }

  static sha256_digest of(std::string_view text) noexcept { return sha256().add(text).finish(); }

 private:
  SHA256_CTX state_;
};

#pragma GCC diagnostic pop

/// A key for HMAC-SHA-256 with both its blocks hashed already.
class hmac_sha256_key {
 public:
  explicit hmac_sha256_key(std::string_view key) noexcept;
  explicit hmac_sha256_key(const sha256_digest& key) noexcept
      : hmac_sha256_key(std::string_view(reinterpret_cast<const char*>(key.data()), key.size())) {}

  /// A hash that begins with the key: add the message and give it to `finish`.
  sha256 start() const noexcept { return inner_; }
  sha256_digest finish(sha256& message) const noexcept {
    const sha256_digest inner = message.finish();
    return sha256(outer_).add(inner.data(), inner.size()).finish();
  }
  sha256_digest sign(std::string_view text) const noexcept {
    sha256 message = start();
    return finish(message.add(text));
  }

 private:
  sha256 inner_;
  sha256 outer_;
};

/// 64 lower-case hexadecimal digits.
using hex_digest = std::array<char, 64>;
hex_digest to_hex(const sha256_digest& digest) noexcept;
inline std::string_view view(const hex_digest& hex) noexcept { return {hex.data(), hex.size()}; }

}  // namespace cppless::detail
