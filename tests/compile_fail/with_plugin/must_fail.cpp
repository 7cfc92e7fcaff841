// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// EXPECT: failure
// This task is right, so the error is not seen.
#include <cppless/cppless.hpp>

void go(cppless::instance& instance, int a) {
  cppless::async(instance, [a] { return a; });  // expected-error {{a task cannot capture}}
}
