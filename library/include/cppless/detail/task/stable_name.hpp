// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeinfo>

#if defined(__CPPLESS_PLUGIN__)
#define CPPLESS_ANNOTATE(text) [[clang::annotate(text)]]
#else
#define CPPLESS_ANNOTATE(text)
#endif

namespace cppless {
namespace detail {

// The plugin adds `static constexpr const char* value()` to each specialisation.
template <class T>
struct CPPLESS_ANNOTATE("cppless::stable_name") stable_name_of {};

/// A stable name in a constant: without the plugin it is known only when the program runs.
struct constant_name {
  const char* given;
  const std::type_info* type;
  const char* text() const noexcept { return given != nullptr ? given : type->name(); }
};

#if defined(__CPPLESS_PLUGIN__)
#define CPPLESS_CONSTANT_NAME(...) {stable_name_of<__VA_ARGS__>::value(), nullptr}
#else
#define CPPLESS_CONSTANT_NAME(...) {nullptr, &typeid(__VA_ARGS__)}
#endif

}  // namespace detail

/// The name of a type: the same on host and target, whatever the architecture and the standard
/// library's inline namespaces. Closures are named by their source file, enclosing scope and
/// ordinal in it. Without the plugin this is the compiler's own name, good for one image only.
/// (thesis 3.1.3)
template <class T>
constexpr const char* stable_name() noexcept {
  if constexpr (requires { detail::stable_name_of<T>::value(); }) {
    return detail::stable_name_of<T>::value();
  } else {
    return typeid(T).name();
  }
}

}  // namespace cppless

/// The papers' spelling of `cppless::stable_name<T>()`.
#define __builtin_unique_stable_name(...) (::cppless::stable_name<__VA_ARGS__>())
