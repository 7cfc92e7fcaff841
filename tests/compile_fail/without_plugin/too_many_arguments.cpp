// SPDX-License-Identifier: Apache-2.0
// ERROR: this task takes another number of arguments
#include <cppless/cppless.hpp>

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  cppless::async(instance, [](int x) { return x; }, 1, 2);
}
