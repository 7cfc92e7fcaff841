// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// Thesis 3.1.4: a pointer into an array. There it compiles and cannot work; here it is rejected.
// Printing slip mended: `x[1]` for `&x[1]`. `offload` is the listing's; it does what the library's
// dispatch does with the type of the lambda.
#include <array>

#include "../../plugin/task.hpp"

template <class F>
int offload(F f, std::array<int, 0>) {
  dispatch(f);
  return 0;
}

auto main() -> int {
  std::array<int, 3> x;
  int *b = &x[1];
  auto fn = [&]() {
    return b[-1];  // expected-error {{a task cannot capture 'b' by reference}}
  };
  auto w = offload(fn, {});  // expected-note {{it is made a task here}}

  // Captured by value, it is the pointer that is in the way.
  auto by_value = [=]() {
    return b[-1];  // expected-error {{a task cannot capture the raw pointer 'b' of type 'int *'}}
  };
  auto v = offload(by_value, {});  // expected-note {{it is made a task here}}
}
