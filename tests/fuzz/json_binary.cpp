// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <cppless/json_binary_archive.hpp>

#include <string_view>

/// Base64 inside a JSON string, converted through the window and all at once.
namespace {

using texts = std::vector<std::string>;
using numbers = std::vector<std::uint32_t>;

template <class T>
std::string in_json(unsigned kind, const T& value) {
  return static_cast<char>(kind) + cppless::json_binary_archive::serialize(value);
}

template <class T>
void check_json(std::string_view json) {
  using archive = cppless::json_binary_archive;
  try {
    const T value = archive::deserialize<T>(json);
    const std::string once = archive::serialize(value);
    if (archive::serialize(archive::deserialize<T>(once)) != once) fuzz::fail("not stable");
    std::string_view trimmed = json;
    trimmed.remove_prefix(trimmed.find('"'));
    trimmed = trimmed.substr(0, trimmed.rfind('"') + 1);
    if (trimmed != once) fuzz::fail("one value has two encodings");
  } catch (const cppless::rejected&) {
  }
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  return {in_json(0, cppless::bytes("some bytes", 10)), in_json(1, texts{"a", "bc", "def"}),
          in_json(1, texts(300, "a text that takes some room")),
          in_json(2, numbers(2000, 0x01020304)), in_json(2, numbers{1, 2, 3}), "\3\"QUJD\""};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  switch (kind % 3) {
    case 0: return check_json<cppless::bytes>(json);
    case 1: return check_json<texts>(json);
    case 2: return check_json<numbers>(json);
  }
}

}  // namespace fuzz
