// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload.hpp"

#include <cstdlib>
#include <cstring>

/// What somebody who knows the two types would write: no checks, one pass, the size known before.
namespace by_hand {

template <class T>
char* write(char* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

template <class T>
const char* read(const char* from, T& value) {
  std::memcpy(&value, from, sizeof value);
  return from + sizeof value;
}

inline std::size_t size_of(const workload::numbers& values) {
  return 8 + values.size() * sizeof(std::uint32_t);
}

template <class Struct>
std::size_t size_of(const std::vector<Struct>& values) {
  std::size_t size = 8;
  for (const auto& each : values) size += 16 + each.text.size();
  return size;
}

inline void encode(const workload::numbers& values, char* to) {
  to = write<std::uint64_t>(to, values.size());
  for (const std::uint32_t each : values) to = write(to, each);
}

template <class Struct>
void encode(const std::vector<Struct>& values, char* to) {
  to = write<std::uint64_t>(to, values.size());
  for (const auto& each : values) {
    to = write(to, each.a);
    to = write(to, each.b);
    to = write<std::uint64_t>(to, each.text.size());
    std::memcpy(to, each.text.data(), each.text.size());
    to += each.text.size();
  }
}

inline void decode(const char* from, workload::numbers& values) {
  std::uint64_t size;
  from = read(from, size);
  values.resize(size);
  for (std::uint32_t& each : values) from = read(from, each);
}

template <class Struct>
void decode(const char* from, std::vector<Struct>& values) {
  std::uint64_t size;
  from = read(from, size);
  values.resize(size);
  for (auto& each : values) {
    from = read(from, each.a);
    from = read(from, each.b);
    from = read(from, size);
    each.text.assign(from, size);
    from += size;
  }
}

}  // namespace by_hand
