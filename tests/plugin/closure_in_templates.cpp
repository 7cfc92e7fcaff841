// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// RUN: output
// RUN: output -O2 -g
// OUT: 10
// OUT: 10.5
// OUT: 62.5
// OUT: 3
// OUT: 4 hey
// OUT: 21
// expected-no-diagnostics
#include <iostream>
#include <string>

template <class T>
auto generic_in_template(T t) {
  auto first = [t, u = T{}](auto x) mutable {
    t += x;
    return t + u;
  };
  static_assert(decltype(first)::capture_count() == 2);
  first.template capture<0>() = 5;
  auto second = [first](auto x) mutable {
    auto third = [first, x] { return x; };
    static_assert(decltype(third)::capture_count() == 2);
    return first(x) + third.template capture<1>();
  };
  second(T(1));
  return second;
}

template <class T>
struct box {
  T base{};
  template <class U>
  auto member(U u) {
    auto lambda = [u, this] { return u + base; };
    lambda.template capture<0>() = U(3);
    return lambda;
  }
  inline static auto in_static_member = [value = T{}] { return value; };
  int in_default_initialiser = [value = 4] { return value; }.template capture<0>();
};

template <class F>
auto capture_of(F f) {
  if constexpr (F::capture_count() > 0) {
    return f.template capture<0>();
  } else {
    return -1;
  }
}

template <class T>
auto variable_template = [factor = T(2)](T x) { return factor * x; };

int main() {
  auto integers = generic_in_template(1);
  std::cout << integers(2) << '\n';
  auto reals = generic_in_template(1.5);
  std::cout << reals(2) + 0.5 << '\n';
  reals.capture<0>().capture<1>() = 50;
  std::cout << reals(2) + 0.5 << '\n';
  box<int> b;
  std::cout << b.member(2.5)() << '\n';
  box<std::string>::in_static_member.capture<0>() = "hey";
  std::cout << b.in_default_initialiser << ' ' << box<std::string>::in_static_member() << '\n';
  variable_template<int>.capture<0>() = 7;
  std::cout << variable_template<int>(3) << '\n';
  return capture_of([] {}) + 1 + capture_of([zero = 0] { return zero; });
}
