// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Base64 as in RFC 4648 section 4: with padding, nothing ignored, one encoding per value.
namespace cppless::detail {

constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

/// Writes base64_size(n) characters to `to`.
void base64_encode(const std::byte* from, std::size_t n, char* to);

/// Bytes that `n` characters stand for. Throws `rejected` unless `n` is a multiple of 4.
std::size_t base64_decoded_size(const char* from, std::size_t n);

/// Writes base64_decoded_size(from, n) bytes to `to`. Throws `rejected` with the position of the
/// first character that may not be there; bits behind the last byte must be 0.
void base64_decode(const char* from, std::size_t n, std::byte* to);

/// Decodes the characters in [begin, end), which are whole groups and not the last group, whose
/// padding only base64_decode knows. Positions in errors are counted from `from`.
void base64_decode_groups(const char* from, std::size_t begin, std::size_t end, std::byte* to);

/// The same without vector instructions, for machines that have none and for comparison.
void base64_encode_scalar(const std::byte* from, std::size_t n, char* to);
void base64_decode_scalar(const char* from, std::size_t n, std::byte* to);

/// Decodes the last group alone.
void base64_decode_last(const char* from, std::size_t at, std::byte* to);

}  // namespace cppless::detail
