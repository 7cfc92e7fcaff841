// SPDX-License-Identifier: Apache-2.0
// RUN: verify
int not_constant();
__attribute__((entry, metadata(not_constant()))) int a(int, char**) {}  // expected-error {{the argument of 'metadata' is not a constant expression}}
__attribute__((entry, metadata(missing))) int b(int, char**) {}  // expected-error {{use of undeclared identifier 'missing'}}
__attribute__((entry, metadata())) int c(int, char**) {}  // expected-error {{'metadata' attribute takes one argument}}
__attribute__((entry, metadata("a", "b"))) int d(int, char**) {}  // expected-error {{'metadata' attribute takes one argument}}
__attribute__((metadata("a"))) int e;  // expected-error {{'metadata' attribute only applies to functions with the 'entry' attribute}}
