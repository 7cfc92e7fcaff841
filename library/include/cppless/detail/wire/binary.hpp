// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/get.hpp>
#include <cppless/detail/wire/put.hpp>

#include <string>

/// Values to bytes and back. Values without users' code and shared pointers never meet an archive,
/// so that encoding an `int` costs what a store costs.
namespace cppless::detail {

/// Whether a T can be encoded and decoded. Never a hard error; looks at a user's own functions only
/// from outside.
template <class T>
inline constexpr bool is_serializable = shape_of<std::remove_cv_t<T>>.ok;

/// cereal's exceptions as `rejected`; everything else passes.
template <class F>
decltype(auto) translating(F&& f) {
  try {
    return f();
  } catch (const cereal::Exception& error) {
    throw rejected(std::string("malformed data: ") + error.what());
  }
}

/// Appends `value`. Throws what the user's functions throw, `rejected` for a value nested too
/// deeply; what was written until then stays in the sink (see sink::truncate).
template <class T>
void encode(sink& out, const T& value) {
  constexpr shape s = shape_of<T>;
  if constexpr (!s.direct || s.recursive) out.nesting().start();
  if constexpr (s.direct || !s.ok) {
    put(out, value);
  } else {
    translating([&] {
      binary_output_archive archive(out);
      put(archive, value);
    });
  }
}

/// Calls `f` with what values of shape `s` are read from.
template <shape S, class F>
decltype(auto) with_input(source& in, F&& f) {
  if constexpr (!S.direct || S.recursive) in.nesting().start();
  if constexpr (S.direct || !S.ok) {
    return f(in);
  } else {
    return translating([&]() -> decltype(auto) {
      binary_input_archive archive(in);
      return f(archive);
    });
  }
}

/// A fresh value. T need not be default constructible if cereal's load_and_construct knows how to
/// make it or if it is an aggregate. Throws `rejected` for malformed bytes.
template <class T>
T decode(source& in) {
  return with_input<shape_of<T>>(in, [](auto& from) -> T { return get<T>(from); });
}

/// Overwrites `value`, keeping memory it owns where that helps. If it throws, `value` is valid but
/// unspecified.
template <class T>
void decode_into(source& in, T& value) {
  with_input<shape_of<T>>(in, [&](auto& from) { get_into(from, value); });
}

/// Constructs a T at `place`, which need not be movable. If it throws, there is none.
template <class T>
void decode_at(source& in, T* place) {
  with_input<shape_of<T>>(in, [&](auto& from) { get_at(from, place); });
}

}  // namespace cppless::detail
