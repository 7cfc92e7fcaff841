// SPDX-License-Identifier: Apache-2.0
// ERROR: the result variable has another type than the callable returns
#include <cppless/cppless.hpp>

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  long result = 0;
  cppless::dispatch(instance, [](int x) { return x; }, result, {1});
}
