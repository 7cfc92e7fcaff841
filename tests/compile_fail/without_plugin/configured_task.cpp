// SPDX-License-Identifier: Apache-2.0
// ERROR: a task has its configuration already: give it to task<...>::with<config>
#include <cppless/cppless.hpp>

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  cppless::task made = [](int x) { return x; };
  cppless::async<cppless::lambda::config<cppless::lambda::with_memory<64>>>(instance, made, 1);
}
