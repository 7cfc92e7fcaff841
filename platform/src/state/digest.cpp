// SPDX-License-Identifier: Apache-2.0
#include "state/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <stdexcept>

namespace platform::state {

sha256_digest sha256(std::string_view data) {
  sha256_digest result;
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(), result.data());
  return result;
}

sha256_digest hmac_sha256(std::string_view key, std::string_view data) {
  // By hand over SHA256(): OpenSSL 3's HMAC() looks its algorithm up each time, 4 us.
  std::array<unsigned char, 64> block{};
  if (key.size() > block.size()) {
    const auto shorter = sha256(key);
    std::copy(shorter.begin(), shorter.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  const auto round = [&](unsigned char pad, std::string_view text) {
    std::string all(block.size(), '\0');
    for (std::size_t i = 0; i < block.size(); ++i) all[i] = static_cast<char>(block[i] ^ pad);
    all += text;
    return sha256(all);
  };
  const auto inner = round(0x36, data);
  return round(0x5c, {reinterpret_cast<const char*>(inner.data()), inner.size()});
}

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > (256u << 20)) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '+' || c == '/';
    if (!good) return std::nullopt;
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  const int count = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (count < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(count) - padding);
  return bytes;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1)
    throw std::runtime_error("the system has no random numbers");
  return bytes;
}

std::string random_uuid() {
  std::string bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  std::string text = hex(bytes);
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, 1, '-');
  return text;
}

std::string random_letters(std::size_t count) {
  std::string text = random_bytes(count);
  for (char& c : text) c = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[static_cast<unsigned char>(c) & 31];
  return text;
}

}  // namespace platform::state
