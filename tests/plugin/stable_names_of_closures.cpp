// SPDX-License-Identifier: Apache-2.0
// RUN: verify -fplugin-arg-cppless-source-root=%S
// RUN: verify -g -O2 -fplugin-arg-cppless-source-root=%S/
// expected-no-diagnostics
#include <vector>

#include "stable_name.hpp"

#define FILE_NAME "stable_names_of_closures.cpp"

auto at_namespace_scope = [](int) {};
EXPECT_NAME(FILE_NAME "@at_namespace_scope::lambda#1(int)", decltype(at_namespace_scope));
static auto pair_of_lambdas = ((void)[] {}, [] {
  auto inner = [] {};
  EXPECT_NAME(FILE_NAME "@pair_of_lambdas::lambda#2()::lambda#1()", decltype(inner));
});
EXPECT_NAME(FILE_NAME "@pair_of_lambdas::lambda#2()", decltype(pair_of_lambdas));

namespace outer::inline version_2 {
template <class T>
auto variable = [](T) {};
template <class T>
struct box {
  static inline auto in_class = [](T) {};
  auto member(int) const {
    return [](T&) {};
  }
};
}  // namespace outer::inline version_2
EXPECT_NAME(FILE_NAME "@outer::variable<int>::lambda#1(int)", decltype(outer::variable<int>));
EXPECT_NAME(FILE_NAME "@outer::box<int>::lambda#1(int)", decltype(outer::box<int>::in_class));
EXPECT_NAME(FILE_NAME "@outer::box<double>::member(int) const::lambda#1(double&)",
            decltype(outer::box<double>().member(1)));

namespace {
auto in_anonymous_namespace() {
  return [] {};
}
}  // namespace
EXPECT_NAME(FILE_NAME "@(anonymous)::in_anonymous_namespace()::lambda#1()",
            decltype(in_anonymous_namespace()));

// The number is the lambda's place in the template, whatever an instantiation leaves out.
template <bool Both>
auto conditional() {
  if constexpr (Both) {
    auto first = [] {};
    (void)first;
  }
  return [](int) { return [] {}; };
}
EXPECT_NAME(FILE_NAME "@conditional<true>()::lambda#2(int)", decltype(conditional<true>()));
EXPECT_NAME(FILE_NAME "@conditional<false>()::lambda#2(int)", decltype(conditional<false>()));
EXPECT_NAME(FILE_NAME "@conditional<false>()::lambda#2(int)::lambda#1()",
            decltype(conditional<false>()(1)));

template <class T, class U>
struct same {
  static constexpr bool value = false;
};
template <class T>
struct same<T, T> {
  static constexpr bool value = true;
};
template <class T, class U>
constexpr bool differ(T, U) {
  return !equal(__builtin_unique_stable_name(T), __builtin_unique_stable_name(U));
}
template <class... T>
constexpr bool expansion_differs(T... values) {
  return differ([values] {}...);
}
static_assert(expansion_differs(1, 2));

#define TWO(a, b) auto a = [] {}; auto b = [] {}

int main() {
  auto first = [](int) {};
  auto second = [=](int) {};
  EXPECT_NAME(FILE_NAME "@main()::lambda#1(int)", decltype(first));
  EXPECT_NAME(FILE_NAME "@main()::lambda#2(int)", decltype(second));
  TWO(third, fourth);
  EXPECT_NAME(FILE_NAME "@main()::lambda#4()", decltype(fourth));
  auto generic = [](auto x, std::vector<decltype(x)>*) {
    auto inner = [] {};
    return inner;
  };
  EXPECT_NAME(FILE_NAME "@main()::lambda#5(auto, std::vector<auto>*)", decltype(generic));
  EXPECT_NAME(FILE_NAME "@main()::lambda#5(auto, std::vector<auto>*)<int>::lambda#1()",
              decltype(generic(1, nullptr)));
  auto holder = [inner = [] { return 1; }] {
    // Named while the lambda around it is still being read.
    auto nested = [] {};
    EXPECT_NAME(FILE_NAME "@main()::lambda#7()::lambda#1()", decltype(nested));
    EXPECT_NAME(FILE_NAME "@main()::lambda#6()", decltype(inner));
  };
  EXPECT_NAME(FILE_NAME "@main()::lambda#7()", decltype(holder));
  struct local {
    int value = [] { return 1; }();
    auto member() {
      return [] {};
    }
  };
  EXPECT_NAME("main()::local", local);
  EXPECT_NAME(FILE_NAME "@main()::local::member()::lambda#1()", decltype(local().member()));
  {
    struct local {};
    EXPECT_NAME("main()::local#2", local);
  }
  EXPECT_NAME("outer::box<" FILE_NAME "@main()::lambda#1(int)>", outer::box<decltype(first)>);
}
