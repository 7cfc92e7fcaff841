// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// Raw entries are checked like main, beside the library too.
#include <cppless/cppless.hpp>

__attribute((entry)) auto alt_entry(char argc) -> int {  // expected-error {{first parameter of 'main' (argument count) must be of type 'int'}}
  return 42;
}
