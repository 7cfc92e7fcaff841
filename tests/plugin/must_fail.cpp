// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// RUN: output
// EXPECT: failure
// OUT: something else
// Proof that the harness notices: no error here is expected, and the output is not this.
#include <cstdio>

int main() {
  auto lambda = [] {};
#ifndef __CPPLESS_PLUGIN__
#error "the macro __CPPLESS_PLUGIN__ is not defined"
#endif
  static_assert(__CPPLESS_PLUGIN__ == 1);
  std::puts(decltype(lambda)::capture_count() == 0 ? "zero" : "not zero");
  return decltype(lambda)::capture_count() + undeclared;
}
