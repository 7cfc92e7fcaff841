// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/binary_archive.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

/// Shared by the fuzz targets. The first byte of an input says as which type the rest is decoded.
/// What is decoded must be encoded again to something that decodes to the same bytes; what is
/// malformed must be `rejected` and nothing else.
namespace fuzz {

/// Inputs that are right, from which mutations start more often than chance would find them.
using seeds = std::vector<std::string>;
seeds make_seeds();

/// One input without its first byte.
void decode(unsigned kind, const std::byte* data, std::size_t size);

[[noreturn]] inline void fail(const char* why) {
  std::fprintf(stderr, "fuzz: %s\n", why);
  std::abort();
}

/// A seed for `kind`, made by encoding `value`.
template <class T>
std::string seed(unsigned kind, const T& value) {
  const auto data = cppless::binary_archive::serialize(value);
  return static_cast<char>(kind) + std::string(data.view());
}

template <class T>
void check(const std::byte* data, std::size_t size) {
  using cppless::binary_archive;
  const std::span<const std::byte> input(data, size);
  try {
    T value = binary_archive::deserialize<T>(input);
    const auto once = binary_archive::serialize(value);
    T again = binary_archive::deserialize<T>(once);
    if (!(binary_archive::serialize(again) == once)) fail("decoding is not stable");
    binary_archive::deserialize(input, again);  // over another value
    if (!(binary_archive::serialize(again) == once)) fail("decoding over a value differs");
  } catch (const cppless::rejected&) {
  }
}

}  // namespace fuzz
