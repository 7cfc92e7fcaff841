// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// RUN: output -O0
// RUN: output -O2 -g
// RUN: output -g -fsanitize=address,undefined
// RUN: output -fsanitize=thread
// RUN: output -std=c++17
// OUT: argc 13, m 12
// OUT: by reference 9, pointer 8, string hey!
// OUT: copy of the object 101, this 7
// OUT: array 77
// OUT: pack 33
// OUT: nested 6
// expected-no-diagnostics
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

struct object {
  int value = 7;
  auto copy() {
    return [*this]() mutable { return ++value; };
  }
  auto pointer() {
    return [this] { return value; };
  }
};

template <class... T>
auto pack(T... values) {
  return [values...] { return (values + ...); };
}

// The library's own use: all captures of any closure, in order.
template <class F, class Visit, int... I>
constexpr void visit_captures(F& closure, Visit visit, std::integer_sequence<int, I...>) {
  (visit(closure.template capture<I>()), ...);
}
template <class F, class Visit>
constexpr void visit_captures(F& closure, Visit visit) {
  visit_captures(closure, visit, std::make_integer_sequence<int, F::capture_count()>{});
}

constexpr int in_constant_expression() {
  auto lambda = [a = 1, b = 2]() mutable { return a * 10 + b; };
  lambda.capture<0>() = 4;
  lambda.capture<1>() += 3;
  return lambda();
}
static_assert(in_constant_expression() == 45);

int main() {
  int argc = 1;
  double m = 12;
  auto lambda = [argc, m] { std::printf("argc %d, m %g\n", argc, m); };
  static_assert(decltype(lambda)::capture_count() == 2);
  lambda.capture<0>() = 13;
  lambda();

  const auto constant = lambda;
  static_assert(std::is_same_v<decltype(constant.capture<1>()), const double&>);
  static_assert(std::is_same_v<decltype(lambda.capture<1>()), double&>);
  static_assert(noexcept(lambda.capture<0>()));
  const int fixed = argc;
  auto captures_const = [fixed] { return fixed; };
  static_assert(std::is_same_v<decltype(captures_const.capture<0>()), const int&>);

  auto none = [] {};
  static_assert(decltype(none)::capture_count() == 0);
  static_assert(std::is_empty_v<decltype(none)>);
  int (*decayed)(int) = [](int x) { return x; };
  (void)decayed;

  int referred = 3;
  auto kinds = [&referred, p = std::make_unique<int>(4), s = std::string("hey")] { return referred; };
  kinds.capture<0>() = 9;
  *kinds.capture<1>() = 8;
  kinds.capture<2>() += "!";
  std::printf("by reference %d, pointer %d, string %s\n", referred, *kinds.capture<1>(),
              kinds.capture<2>().c_str());

  object o;
  auto copy = o.copy();
  copy.capture<0>().value = 100;
  const int copied = copy();
  std::printf("copy of the object %d, this %d\n", copied, o.pointer().capture<0>()->value);

  int array[3] = {1, 2, 3};
  auto holds_array = [array] { return array[2]; };
  holds_array.capture<0>()[2] = 77;
  std::printf("array %d\n", holds_array());

  auto packed = pack(1, 2, 3);
  packed.capture<2>() = 30;
  std::printf("pack %d\n", packed());

  auto inner = [x = 1](int y) { return x + y; };
  auto outer = [inner] { return inner(1); };
  outer.capture<0>().capture<0>() = 5;
  std::printf("nested %d\n", outer());

  int count = 0;
  visit_captures(packed, [&count](int& value) { count += value; });
  return count - 33;
}
