// SPDX-License-Identifier: Apache-2.0
// ERROR: an argument of this task cannot be serialised
#include <cppless/cppless.hpp>

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  int x = 0;
  cppless::async(instance, [](int* p) { return *p; }, &x);
}
