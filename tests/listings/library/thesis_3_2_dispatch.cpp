// SPDX-License-Identifier: Apache-2.0
// RUN: output
// OUT: 2
// Thesis 3.2: the dispatcher interface. `instance` is, as there, initialised before.
#include <cppless/cppless.hpp>

#include <iostream>

int main() {
  auto instance = cppless::local_dispatcher().create_instance();

  int a = -1;
  auto t0 = [=]() { return a + 3; };
  int t0_result;
  cppless::dispatch(instance, t0, t0_result, {});
  instance.wait_one();
  // t0_result can be accessed

  std::cout << t0_result << std::endl;
}
