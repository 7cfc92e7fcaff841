// SPDX-License-Identifier: Apache-2.0
#include "lambda/sha256.hpp"

#include <cstring>

namespace cppless::detail {

hmac_sha256_key::hmac_sha256_key(std::string_view key) noexcept {
  std::array<unsigned char, SHA256_CBLOCK> block{};
  if (key.size() > block.size()) {
    const sha256_digest digest = sha256::of(key);
    std::memcpy(block.data(), digest.data(), digest.size());
  } else if (!key.empty()) {
    std::memcpy(block.data(), key.data(), key.size());
  }
  for (unsigned char& byte : block) byte ^= 0x36;
  inner_.add(block.data(), block.size());
  for (unsigned char& byte : block) byte ^= 0x36 ^ 0x5c;
  outer_.add(block.data(), block.size());
}

hex_digest to_hex(const sha256_digest& digest) noexcept {
  constexpr char digits[] = "0123456789abcdef";
  hex_digest hex;
  for (std::size_t at = 0; at < digest.size(); ++at) {
    hex[2 * at] = digits[digest[at] >> 4];
    hex[2 * at + 1] = digits[digest[at] & 15];
  }
  return hex;
}

}  // namespace cppless::detail
