// SPDX-License-Identifier: Apache-2.0
#include "wire/base64.hpp"

#include <cppless/errors.hpp>

#include <array>
#include <cstdint>
#include <string>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC bug 105593, in the header below
#endif
#include <immintrin.h>
#define CPPLESS_AVX2 [[gnu::target("avx2")]]
#define CPPLESS_VBMI [[gnu::target("avx512f,avx512bw,avx512vbmi")]]
#endif

namespace cppless::detail {
namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t invalid = 0xff;
constexpr auto values = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(invalid);
  for (std::uint8_t i = 0; i < 64; ++i) table[static_cast<unsigned char>(alphabet[i])] = i;
  return table;
}();

std::uint32_t value_of(char c) { return values[static_cast<unsigned char>(c)]; }

[[noreturn]] void bad_character(const char* from, std::size_t position) {
  throw rejected("malformed base64: character " +
                 std::to_string(static_cast<unsigned>(static_cast<unsigned char>(from[position]))) +
                 " at position " + std::to_string(position) +
                 " is not one of the 64 of the alphabet, or padding in the wrong place");
}

/// Position of the first character of these four that is not in the alphabet.
[[noreturn]] void bad_group(const char* from, std::size_t position) {
  while (value_of(from[position]) != invalid) ++position;
  bad_character(from, position);
}

#if defined(__x86_64__)
// The kernels follow W. Mula and D. Lemire, "Faster Base64 Encoding and Decoding Using AVX2
// Instructions", ACM Transactions on the Web 12 (2018), and "Base64 encoding and decoding at almost
// the speed of a memory copy", Software: Practice and Experience 50 (2020).

/// 24 bytes to 32 characters per step. Returns the bytes done; reads 28 per step.
CPPLESS_AVX2 std::size_t encode_avx2(const std::byte* from, std::size_t n, char* to) {
  const __m256i spread = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
  const __m256i shift = _mm256_broadcastsi128_si256(_mm_setr_epi8(
      65, 71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 0, 0));
  std::size_t done = 0;
  for (; n - done >= 28; done += 24, to += 32) {
    const auto* p = reinterpret_cast<const __m128i*>(from + done);
    const auto* q = reinterpret_cast<const __m128i*>(from + done + 12);
    __m256i in = _mm256_set_m128i(_mm_loadu_si128(q), _mm_loadu_si128(p));
    in = _mm256_shuffle_epi8(in, spread);  // each group of 3 bytes in 4: b a c b
    const __m256i high = _mm256_mulhi_epu16(_mm256_and_si256(in, _mm256_set1_epi32(0x0fc0fc00)),
                                            _mm256_set1_epi32(0x04000040));
    const __m256i low = _mm256_mullo_epi16(_mm256_and_si256(in, _mm256_set1_epi32(0x003f03f0)),
                                           _mm256_set1_epi32(0x01000010));
    const __m256i six = _mm256_or_si256(high, low);  // 32 values below 64
    // 0..25 -> row 0 or 1 of `shift`, 26..51 -> 1, 52..61 -> 2..11, 62 -> 12, 63 -> 13
    __m256i row = _mm256_subs_epu8(six, _mm256_set1_epi8(51));
    row = _mm256_sub_epi8(row, _mm256_cmpgt_epi8(six, _mm256_set1_epi8(25)));
    const __m256i text = _mm256_add_epi8(six, _mm256_shuffle_epi8(shift, row));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), text);
  }
  return done;
}

/// 32 characters to 24 bytes. `wrong` is not zero if one of them is not in the alphabet.
CPPLESS_AVX2 inline __m256i decode_32(__m256i text, __m256i& wrong) {
  const __m256i low_table = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b,
                    0x1b, 0x1b, 0x1a));
  const __m256i high_table = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10,
                    0x10, 0x10, 0x10));
  const __m256i shift = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
  const __m256i gather = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
  const __m256i slash = _mm256_set1_epi8(0x2f);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi32(text, 4), slash);
  const __m256i low = _mm256_and_si256(text, slash);
  // Each table has a bit per class of characters; a character is wrong if both have one.
  wrong = _mm256_and_si256(_mm256_shuffle_epi8(low_table, low),
                           _mm256_shuffle_epi8(high_table, high));
  const __m256i row = _mm256_add_epi8(_mm256_cmpeq_epi8(text, slash), high);
  const __m256i six = _mm256_add_epi8(text, _mm256_shuffle_epi8(shift, row));
  const __m256i twelve = _mm256_maddubs_epi16(six, _mm256_set1_epi32(0x01400140));
  const __m256i all = _mm256_madd_epi16(twelve, _mm256_set1_epi32(0x00011000));
  return _mm256_shuffle_epi8(all, gather);  // 12 bytes in each half
}

CPPLESS_AVX2 inline void store_24(std::byte* to, __m256i halves) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(halves));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 12), _mm256_extracti128_si256(halves, 1));
}

/// 64 characters to 48 bytes per step, until a character is not in the alphabet. Returns the
/// characters done. Each store writes 4 bytes too many, which the next one overwrites.
CPPLESS_AVX2 std::size_t decode_avx2(const char* from, std::size_t n, std::byte* to) {
  std::size_t done = 0;
  for (; n - done >= 72; done += 64, to += 48) {
    __m256i wrong_a, wrong_b;
    const auto* p = reinterpret_cast<const __m256i*>(from + done);
    const __m256i a = decode_32(_mm256_loadu_si256(p), wrong_a);
    const __m256i b = decode_32(_mm256_loadu_si256(p + 1), wrong_b);
    const __m256i wrong = _mm256_or_si256(wrong_a, wrong_b);
    if (!_mm256_testz_si256(wrong, wrong)) break;
    store_24(to, a);
    store_24(to + 24, b);
  }
  return done;
}

/// 48 bytes to 64 characters per step. Returns the bytes done; reads 64 per step.
CPPLESS_VBMI std::size_t encode_vbmi(const std::byte* from, std::size_t n, char* to) {
  const __m512i spread = _mm512_setr_epi32(
      0x01020001, 0x04050304, 0x07080607, 0x0a0b090a, 0x0d0e0c0d, 0x10110f10, 0x13141213,
      0x16171516, 0x191a1819, 0x1c1d1b1c, 0x1f201e1f, 0x22232122, 0x25262425, 0x28292728,
      0x2b2c2a2b, 0x2e2f2d2e);  // each group of 3 bytes in 4: b a c b
  const __m512i shifts = _mm512_set1_epi64(0x3036242a1016040a);
  const __m512i characters = _mm512_loadu_si512(alphabet);
  std::size_t done = 0;
  for (; n - done >= 64; done += 48, to += 64) {
    const __m512i in = _mm512_permutexvar_epi8(spread, _mm512_loadu_si512(from + done));
    const __m512i six = _mm512_multishift_epi64_epi8(shifts, in);  // the next step ignores 2 bits
    _mm512_storeu_si512(to, _mm512_permutexvar_epi8(six, characters));
  }
  return done;
}

/// 64 characters to 48 bytes per step, until a character is not in the alphabet. Returns the
/// characters done. Each store writes 16 bytes too many, which the next one overwrites.
CPPLESS_VBMI std::size_t decode_vbmi(const char* from, std::size_t n, std::byte* to) {
  const __m512i low_values = _mm512_loadu_si512(values.data());
  const __m512i high_values = _mm512_loadu_si512(values.data() + 64);
  const __m512i gather = _mm512_setr_epi32(
      0x06000102, 0x090a0405, 0x0c0d0e08, 0x16101112, 0x191a1415, 0x1c1d1e18, 0x26202122,
      0x292a2425, 0x2c2d2e28, 0x36303132, 0x393a3435, 0x3c3d3e38, 0, 0, 0, 0);
  std::size_t done = 0;
  for (; n - done >= 88; done += 64, to += 48) {
    const __m512i text = _mm512_loadu_si512(from + done);
    const __m512i six = _mm512_permutex2var_epi8(low_values, text, high_values);
    // The highest bit: of a value, it is `invalid`; of a character, it is not ASCII.
    if (_mm512_movepi8_mask(_mm512_or_si512(six, text)) != 0) break;
    const __m512i twelve = _mm512_maddubs_epi16(six, _mm512_set1_epi32(0x01400140));
    const __m512i all = _mm512_madd_epi16(twelve, _mm512_set1_epi32(0x00011000));
    _mm512_storeu_si512(to, _mm512_permutexvar_epi8(gather, all));
  }
  return done;
}

bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2") != 0;
  return yes;
}

bool has_vbmi() {
  static const bool yes =
      __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  return yes;
}
#endif

}  // namespace

void base64_encode_scalar(const std::byte* from, std::size_t n, char* to) {
  for (; n >= 3; n -= 3, from += 3, to += 4) {
    const std::uint32_t group = static_cast<std::uint32_t>(from[0]) << 16 |
                                static_cast<std::uint32_t>(from[1]) << 8 |
                                static_cast<std::uint32_t>(from[2]);
    to[0] = alphabet[group >> 18];
    to[1] = alphabet[group >> 12 & 63];
    to[2] = alphabet[group >> 6 & 63];
    to[3] = alphabet[group & 63];
  }
  if (n == 0) return;
  const std::uint32_t group = static_cast<std::uint32_t>(from[0]) << 16 |
                              (n == 2 ? static_cast<std::uint32_t>(from[1]) << 8 : 0);
  to[0] = alphabet[group >> 18];
  to[1] = alphabet[group >> 12 & 63];
  to[2] = n == 2 ? alphabet[group >> 6 & 63] : '=';
  to[3] = '=';
}

std::size_t base64_decoded_size(const char* from, std::size_t n) {
  if (n % 4 != 0) {
    throw rejected("malformed base64: " + std::to_string(n) +
                   " characters, a multiple of 4 is required");
  }
  if (n == 0) return 0;
  return n / 4 * 3 - (from[n - 1] == '=' ? 1 : 0) -
         (from[n - 1] == '=' && from[n - 2] == '=' ? 1 : 0);
}

void base64_decode_last(const char* from, std::size_t at, std::byte* to) {
  const std::uint32_t a = value_of(from[at]), b = value_of(from[at + 1]);
  if (a == invalid || b == invalid) bad_group(from, at);
  if (from[at + 3] != '=') {
    const std::uint32_t c = value_of(from[at + 2]), d = value_of(from[at + 3]);
    if (c == invalid || d == invalid) bad_group(from, at + 2);
    to[0] = std::byte(a << 2 | b >> 4);
    to[1] = std::byte((b << 4 | c >> 2) & 0xff);
    to[2] = std::byte((c << 6 | d) & 0xff);
  } else if (from[at + 2] != '=') {
    const std::uint32_t c = value_of(from[at + 2]);
    if (c == invalid || (c & 3) != 0) bad_character(from, at + 2);
    to[0] = std::byte(a << 2 | b >> 4);
    to[1] = std::byte((b << 4 | c >> 2) & 0xff);
  } else {
    if ((b & 15) != 0) bad_character(from, at + 1);
    to[0] = std::byte(a << 2 | b >> 4);
  }
}

namespace {

void decode_groups_scalar(const char* from, std::size_t at, std::size_t end, std::byte* to) {
  for (; at < end; at += 4, to += 3) {
    const std::uint32_t a = value_of(from[at]), b = value_of(from[at + 1]),
                        c = value_of(from[at + 2]), d = value_of(from[at + 3]);
    if (((a | b | c | d) & 0xc0) != 0) bad_group(from, at);
    to[0] = std::byte(a << 2 | b >> 4);
    to[1] = std::byte((b << 4 | c >> 2) & 0xff);
    to[2] = std::byte((c << 6 | d) & 0xff);
  }
}

}  // namespace

void base64_decode_scalar(const char* from, std::size_t n, std::byte* to) {
  if (n == 0) return;
  decode_groups_scalar(from, 0, n - 4, to);
  base64_decode_last(from, n - 4, to + (n - 4) / 4 * 3);
}

void base64_encode(const std::byte* from, std::size_t n, char* to) {
#if defined(__x86_64__)
  const auto advance = [&](std::size_t done) {
    from += done;
    n -= done;
    to += done / 3 * 4;
  };
  if (has_vbmi()) advance(encode_vbmi(from, n, to));
  if (has_avx2()) advance(encode_avx2(from, n, to));
#endif
  base64_encode_scalar(from, n, to);
}

void base64_decode_groups(const char* from, std::size_t begin, std::size_t end, std::byte* to) {
#if defined(__x86_64__)
  const auto advance = [&](std::size_t done) {
    begin += done;
    to += done / 4 * 3;
  };
  if (has_vbmi()) advance(decode_vbmi(from + begin, end - begin, to));
  if (has_avx2()) advance(decode_avx2(from + begin, end - begin, to));
#endif
  decode_groups_scalar(from, begin, end, to);
}

void base64_decode(const char* from, std::size_t n, std::byte* to) {
  if (n == 0) return;
  base64_decode_groups(from, 0, n - 4, to);
  base64_decode_last(from, n - 4, to + (n - 4) / 4 * 3);
}

}  // namespace cppless::detail
