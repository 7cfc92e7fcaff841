// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// Thesis 3.1.4, as in ../language, but with the library's own dispatch.
// Printing slip mended: `x[1]` for `&x[1]`.
#include <array>

#include <cppless/cppless.hpp>

cppless::instance& instance();

auto offload(auto fn, std::tuple<>) {
  return cppless::async(instance(), fn);
}

auto main() -> int {
  std::array<int, 3> x;
  int *b = &x[1];
  auto fn = [=]() {
    return b[-1];  // expected-error {{a task cannot capture the raw pointer 'b' of type 'int *'}}
  };
  auto w = offload(fn, {});  // expected-note {{it is made a task here}}
}
