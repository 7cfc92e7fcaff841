// SPDX-License-Identifier: Apache-2.0
// RUN: verify -fplugin-arg-cppless-no-global-warnings
// expected-no-diagnostics
#include "task.hpp"

int global;
void go() {
  dispatch([] { return ++global; });
}
