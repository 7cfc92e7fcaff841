// SPDX-License-Identifier: Apache-2.0
// ERROR: the result of this task cannot be serialised
#include <cppless/cppless.hpp>

int global;

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  cppless::async(instance, [] { return &global; });
}
