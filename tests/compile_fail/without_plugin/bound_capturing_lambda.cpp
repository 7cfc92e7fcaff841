// SPDX-License-Identifier: Apache-2.0
// ERROR: bind takes a lambda without captures: pass the values as further arguments
#include <cppless/cppless.hpp>

int main() {
  int n = 1;
  auto bound = cppless::bind([n](int x) { return x + n; }, 3);
  (void)bound;
}
