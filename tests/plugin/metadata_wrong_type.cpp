// SPDX-License-Identifier: Apache-2.0
// RUN: verify
__attribute__((metadata("a"))) int no_entry(int, char**) { return 0; }  // expected-error {{'metadata' attribute only applies to functions with the 'entry' attribute}}
__attribute__((entry, metadata(42))) int number(int, char**) {}  // expected-error {{the argument of 'metadata' must be a string literal or a constant object that holds a char array, not 'int'}}
__attribute__((entry, metadata(L"wide"))) int wide(int, char**) {}  // expected-error-re {{the argument of 'metadata' must be a string literal or a constant object that holds a char array, not 'const wchar_t{{ ?}}[5]'}}

template <class T>
struct task {
  __attribute__((entry, metadata(T::text))) static int main(int, char**) {}  // expected-error {{the argument of 'metadata' must be a string literal or a constant object that holds a char array, not 'const int'}}
};
struct numbered {
  static constexpr int text = 3;
};
task<numbered> instantiated;
