// SPDX-License-Identifier: Apache-2.0
// Writes PNG files without compressing them, which needs no library. (PNG: ISO/IEC 15948; zlib and
// deflate: RFC 1950 and 1951.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace png {

struct rgb {
  std::uint8_t red, green, blue;
  bool operator==(const rgb&) const = default;
};

namespace detail {

inline std::string big_endian(std::uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

inline std::uint32_t crc32(std::string_view data) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t;
    for (std::uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = (t[i] >> 1) ^ (t[i] & 1 ? 0xedb88320 : 0);
    }
    return t;
  }();
  std::uint32_t crc = ~0u;
  for (const unsigned char c : data) crc = table[(crc ^ c) & 255] ^ (crc >> 8);
  return ~crc;
}

inline std::uint32_t adler32(std::string_view data) {
  std::uint32_t a = 1, b = 0;
  for (const unsigned char c : data) {
    a = (a + c) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// A zlib stream of stored blocks, each of at most 65,535 bytes.
inline std::string zlib(std::string_view data) {
  std::string out = "\x78\x01";
  const std::uint32_t sum = adler32(data);
  do {
    const std::string_view block = data.substr(0, 65535);
    data.remove_prefix(block.size());
    const auto n = static_cast<std::uint16_t>(block.size());
    out += data.empty() ? '\1' : '\0';
    out += {char(n), char(n >> 8), char(~n), char(~n >> 8)};
    out += block;
  } while (!data.empty());
  return out + big_endian(sum);
}

inline std::string chunk(const std::string& name, const std::string& data) {
  const auto size = static_cast<std::uint32_t>(data.size());
  return big_endian(size) + name + data + big_endian(crc32(name + data));
}

}  // namespace detail

// The file's bytes. `pixels` holds the rows from the top, each from the left.
inline std::string encode(const std::vector<rgb>& pixels, int width) {
  using namespace detail;
  const auto height = static_cast<std::uint32_t>(pixels.size() / width);
  std::string rows;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (i % width == 0) rows += '\0';  // no filter in this row
    rows += {char(pixels[i].red), char(pixels[i].green), char(pixels[i].blue)};
  }
  const std::string depth_and_colour("\x8\x2\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(width) + big_endian(height) + depth_and_colour) +
         chunk("IDAT", zlib(rows)) + chunk("IEND", "");
}

}  // namespace png
