// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/json_archive.hpp>

#include <string>
#include <string_view>

namespace cppless {

/// Values to JSON that people can read and change: {"value0": ...}. (thesis 5.8.1)
///
/// Takes the same types as `binary_archive`. Objects, tuples and plain aggregates become JSON
/// objects whose members are named by CEREAL_NVP or else value0, value1, ...; containers become
/// arrays; maps arrays of {"key", "value"}; `bytes` a base64 string. Text must be UTF-8 if others
/// shall read the JSON. Named members may come in any order. docs/formats/values.md
///
/// A hundred times slower than `binary_archive` and several times larger: for looking at values, not
/// for sending them. Not part of <cppless/cppless.hpp>; include it before registering polymorphic
/// types.
struct json_structured_archive {
  /// Throws `rejected` for a value of more than 1000 levels, and what users' functions throw.
  template <class T>
  static std::string serialize(const T& value) {
    return detail::translating([&] {
      detail::json_output_archive archive;
      detail::put(archive, value);
      return archive.writer().release();
    });
  }

  /// Throws `rejected`, with the position, if `json` is not what a T is written as.
  template <class T>
  static T deserialize(std::string_view json) {
    return detail::translating([&]() -> T {
      detail::json_input_archive archive(json);
      return detail::get<T>(archive);
    });
  }

  /// Overwrites `value`, which is unchanged if this throws and T can be moved without throwing.
  template <class T>
  static void deserialize(std::string_view json, T& value) {
    if constexpr (std::is_move_assignable_v<T>) {
      value = deserialize<T>(json);
    } else {
      T fresh = deserialize<T>(json);
      std::destroy_at(&value);
      std::construct_at(&value, std::move(fresh));
    }
  }
};

}  // namespace cppless
