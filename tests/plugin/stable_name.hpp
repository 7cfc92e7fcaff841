// SPDX-License-Identifier: Apache-2.0
// What the library declares, and the macro with which the thesis asks for a name.
#pragma once

template <class T>
struct [[clang::annotate("cppless::stable_name")]] stable_name_of {};

#define __builtin_unique_stable_name(...) (stable_name_of<__VA_ARGS__>::value())

constexpr bool equal(const char* first, const char* second) {
  while (*first != 0 && *first == *second) {
    ++first;
    ++second;
  }
  return *first == *second;
}

#define EXPECT_NAME(text, ...) static_assert(equal(stable_name_of<__VA_ARGS__>::value(), text))
