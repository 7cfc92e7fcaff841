// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace platform::state {

using sha256_digest = std::array<unsigned char, 32>;

sha256_digest sha256(std::string_view data);
sha256_digest hmac_sha256(std::string_view key, std::string_view data);

std::string hex(std::string_view bytes);
inline std::string hex(const sha256_digest& digest) {
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string base64(std::string_view bytes);
inline std::string base64(const sha256_digest& digest) {
  return base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}
/// Nothing if `text` is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

/// `count` random bytes from the operating system.
std::string random_bytes(std::size_t count);
/// A random version 4 UUID.
std::string random_uuid();
/// `count` characters of A-Z2-7, as in access key ids.
std::string random_letters(std::size_t count);

}  // namespace platform::state
