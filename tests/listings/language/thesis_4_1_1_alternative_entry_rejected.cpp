// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// Thesis 4.1.1, "the following code is invalid", and the message it gives.
// expected-error@+1 {{first parameter of 'main' (argument count) must be of type 'int'}}
__attribute((entry)) auto alt_entry(char argc) -> int
{
  return 42;
}
