// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include <cppless/cppless.hpp>

namespace {
int square(int x) { return x * x; }
}  // namespace

int square_elsewhere(int x) {
  cppless::instance instance = cppless::local_dispatcher{}.create_instance();
  return cppless::async(instance, cppless::fn<&square>, x).get();
}
