// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

/// The paper's Figure 11: a million 32-bit integers, and a million structs of two integers and a
/// string of 42 characters (too long to be kept inside std::string).
namespace workload {

inline constexpr std::size_t count = 1'000'000;

using numbers = std::vector<std::uint32_t>;

/// No code for serialisation.
struct plain {
  int a;
  int b;
  std::string text;
  bool operator==(const plain&) const = default;
};

/// The same with a function for cereal.
struct with_function {
  int a;
  int b;
  std::string text;
  bool operator==(const with_function&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(a, b, text);
  }
};

inline numbers make_numbers() {
  std::mt19937 random(1);
  numbers result(count);
  for (auto& each : result) each = static_cast<std::uint32_t>(random());
  return result;
}

template <class Struct>
std::vector<Struct> make_structs() {
  std::mt19937 random(2);
  std::vector<Struct> result(count);
  for (auto& each : result) {
    each.a = static_cast<int>(random());
    each.b = static_cast<int>(random());
    each.text.assign(42, static_cast<char>('a' + random() % 26));
  }
  return result;
}

}  // namespace workload
