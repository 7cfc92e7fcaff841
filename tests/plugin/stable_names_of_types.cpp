// SPDX-License-Identifier: Apache-2.0
// RUN: verify -fplugin-arg-cppless-source-root=%S
// RUN: verify -fplugin-arg-cppless-source-root=%S -D_GLIBCXX_USE_CXX11_ABI=0
// RUN: verify -fplugin-arg-cppless-source-root=%S -DVERSION=__1
// expected-no-diagnostics
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "stable_name.hpp"

#ifndef VERSION
#define VERSION __cxx11
#endif
namespace library {
inline namespace VERSION {
template <class T, class Allocator = std::allocator<T>>
struct container {};
}  // namespace VERSION
}  // namespace library

EXPECT_NAME("library::container<int>", library::container<int>);
EXPECT_NAME("std::basic_string<char>", std::string);
EXPECT_NAME("std::vector<int>", std::vector<int>);
EXPECT_NAME("std::map<int, std::basic_string<char>>", std::map<int, std::string>);
EXPECT_NAME("std::unordered_map<std::basic_string<char>, std::vector<double>>",
            std::unordered_map<std::string, std::vector<double>>);
EXPECT_NAME("std::unique_ptr<int const>", std::unique_ptr<const int>);
EXPECT_NAME("std::less<>", std::less<>);
EXPECT_NAME("std::function<void(int&&, ...)>", std::function<void(int&&, ...)>);

namespace {
struct hidden {};
}  // namespace
EXPECT_NAME("stable_names_of_types.cpp@(anonymous)::hidden", hidden);

int function(int);
static int internal(int);
template <auto V>
struct any_value {};
template <int (*F)(int)>
struct of_function {};
enum plain { first };
enum class scoped : char { second };
typedef struct { int x; } named_by_typedef;
struct fixed {
  char value[3];
};

EXPECT_NAME("any_value<(int)1>", any_value<1>);
EXPECT_NAME("any_value<(long)1>", any_value<1L>);
EXPECT_NAME("any_value<(bool)true>", any_value<true>);
EXPECT_NAME("any_value<(plain)0>", any_value<first>);
EXPECT_NAME("any_value<fixed{{97, 98}}>", any_value<fixed{"ab"}>);
EXPECT_NAME("of_function<&function(int)>", of_function<&function>);
EXPECT_NAME("of_function<&stable_names_of_types.cpp@internal(int)>", of_function<&internal>);
EXPECT_NAME("scoped", scoped);
EXPECT_NAME("named_by_typedef", named_by_typedef);

EXPECT_NAME("int(double)*", int (*)(double));
EXPECT_NAME("char const* const", const char* const);
EXPECT_NAME("int[3]", int[3]);
EXPECT_NAME("int fixed::*", int fixed::*);
EXPECT_NAME("void(int) const noexcept fixed::*", void (fixed::*)(int) const noexcept);
EXPECT_NAME("std::nullptr_t", std::nullptr_t);
EXPECT_NAME("unsigned long", decltype(sizeof(0)));

int internal(int x) { return x; }
