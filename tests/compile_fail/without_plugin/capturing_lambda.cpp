// SPDX-License-Identifier: Apache-2.0
// ERROR: this callable has state that cppless cannot send: a lambda with captures needs clang and the cppless plugin (or cppless::bind), a function object needs to be an aggregate of serialisable members or have a serialize function
#include <cppless/cppless.hpp>

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  int n = 2;
  cppless::async(instance, [n](int x) { return x + n; }, 1);
}
