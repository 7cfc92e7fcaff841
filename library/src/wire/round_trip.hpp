// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/binary_archive.hpp>
#include <cppless/json_binary_archive.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

/// For the tests of this room.
namespace wire_test {

/// Encodes and decodes `value`: a fresh one, over `other`, and each truncation, which must be
/// rejected.
template <class T>
T round_trip(const T& value) {
  const cppless::bytes data = cppless::binary_archive::serialize(value);
  for (std::size_t n = 0; n < data.size(); ++n) {
    CHECK_THROWS_AS(
        cppless::binary_archive::deserialize<T>(std::span<const std::byte>(data.data(), n)),
        cppless::rejected);
  }
  cppless::bytes longer = data;
  longer.resize(data.size() + 1);
  longer[data.size()] = std::byte{0};
  CHECK_THROWS_AS(cppless::binary_archive::deserialize<T>(longer), cppless::rejected);
  T fresh = cppless::binary_archive::deserialize<T>(data);
  CHECK(cppless::binary_archive::serialize(fresh) == data);
  const std::string json = cppless::json_binary_archive::serialize(value);
  T from_json = cppless::json_binary_archive::deserialize<T>(json);
  CHECK(cppless::binary_archive::serialize(from_json) == data);
  return fresh;
}

template <class T>
T over(T old, const T& value) {
  cppless::binary_archive::deserialize(cppless::binary_archive::serialize(value), old);
  return old;
}

/// As lower-case hexadecimal digits.
inline std::string hex(const cppless::bytes& data) {
  std::string text;
  for (const std::byte b : data) {
    text += "0123456789abcdef"[static_cast<unsigned>(b) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned>(b) & 15];
  }
  return text;
}

inline cppless::bytes unhex(const std::string& text) {
  cppless::bytes data(text.size() / 2);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
  return data;
}

/// What decoding these bytes as a T says, or "accepted".
template <class T>
std::string complaint(const cppless::bytes& data) {
  try {
    cppless::binary_archive::deserialize<T>(data);
  } catch (const cppless::rejected& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace wire_test
