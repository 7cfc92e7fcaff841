// SPDX-License-Identifier: Apache-2.0
// RUN: verify
int main() {
  auto lambda = [a = 1] { return a; };
  lambda.capture<1>();  // expected-error {{function 'capture<1>' with deduced return type cannot be used before it is defined}}
  // expected-note@-2 {{'capture<1>' declared here}}
  return lambda.missing();  // expected-error {{no member named 'missing'}}
}
