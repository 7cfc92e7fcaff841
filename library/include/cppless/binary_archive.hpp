// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/bytes.hpp>
#include <cppless/detail/wire/binary.hpp>

#include <cstddef>
#include <span>

namespace cppless {

/// Values to bytes and back: the archive that dispatchers use by default. (thesis 3.1.4, 5.8.1)
///
///     cppless::bytes data = cppless::binary_archive::serialize(scene);
///     cppless::binary_archive::deserialize(data, copy);
///
/// What can be serialised: numbers, enumerations, strings, the standard containers, pairs, tuples,
/// optionals, variants, std::chrono, smart pointers, aggregates of those without a line of code,
/// and every class with functions for cereal (`serialize`, `save`/`load`, `load_and_construct`,
/// versions, polymorphic registration; see https://uscilab.github.io/cereal/). Containers of plain
/// numbers are copied in one go.
///
/// The bytes are those of cereal's binary archive on a little-endian machine with 64-bit sizes;
/// they do not describe themselves, so both sides must agree on the type. docs/formats/values.md
///
/// All functions may be called from several threads at once.
struct binary_archive {
  /// Throws `rejected` for a value that nests too deeply (1 MiB of stack), and whatever the user's
  /// own functions throw.
  template <class T>
  static bytes serialize(const T& value) {
    detail::heap_sink out;
    detail::encode(out, value);
    return out.release();
  }

  /// Overwrites `value`, using again what memory it holds. Throws `rejected` if `data` is not the
  /// encoding of a T, all of it; `value` is then valid but unspecified.
  template <class T>
  static void deserialize(std::span<const std::byte> data, T& value) {
    detail::source in(data);
    detail::decode_into(in, value);
    in.finish();
  }

  /// A new value, for types without default constructor too:
  /// `auto scene = cppless::binary_archive::deserialize<scene_type>(data);`
  template <class T>
  static T deserialize(std::span<const std::byte> data) {
    detail::source in(data);
    T value = detail::decode<T>(in);
    in.finish();
    return value;
  }
};

}  // namespace cppless
