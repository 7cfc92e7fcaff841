// SPDX-License-Identifier: Apache-2.0
// ERROR: a function pointer cannot be sent: dispatch cppless::fn<&function> instead
#include <cppless/cppless.hpp>

int twice(int x) { return 2 * x; }

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  cppless::async(instance, &twice, 1);
}
