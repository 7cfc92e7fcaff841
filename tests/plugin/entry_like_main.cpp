// SPDX-License-Identifier: Apache-2.0
// RUN: verify
__attribute__((entry)) int good(int, char**) {}
__attribute__((entry)) int without_arguments() {}
__attribute__((entry)) int with_environment(int, const char* const*, char**) {}
[[cppless::entry]] static auto internal(int, char**) -> int {}

__attribute__((entry)) int wrong_count(char, char**) {}  // expected-error {{first parameter of 'main' (argument count) must be of type 'int'}}
__attribute__((entry)) int wrong_vector(int, char*) {}  // expected-error {{second parameter of 'main' (argument array) must be of type 'char **'}}
__attribute__((entry)) void wrong_result(int, char**) {}  // expected-error {{'main' must return 'int'}}
__attribute__((entry)) int too_many(int, char**, char**, char**) {}  // expected-error {{too many parameters (4) for 'main': must be 0, 2, or 3}}
template <class T>
__attribute__((entry)) int function_template(int, char**) {}  // expected-error {{'function_template' cannot be a template}}
__attribute__((entry)) int variable;  // expected-error {{'entry' attribute only applies to functions and static member functions}}
__attribute__((entry(1))) int with_argument(int, char**) {}  // expected-error {{'entry' attribute takes no arguments}}

struct plain {
  __attribute__((entry)) int member(int, char**) {}  // expected-error {{'entry' attribute only applies to functions and static member functions}}
  __attribute__((entry)) static int good(int, char**) {}
};

template <class T>
struct in_template {
  __attribute__((entry)) static int main(T, char**) {}  // expected-error {{first parameter of 'main' (argument count) must be of type 'int'}}
};
in_template<int> right;
in_template<long> wrong;  // expected-note {{in instantiation of template class 'in_template<long>' requested here}}
// The body is compiled though nobody calls it.
template <class T>
struct never_called {
  __attribute__((entry)) static int main(int, char**) { T::nothing(); }  // expected-error {{type 'int' cannot be used prior to '::'}}
};
never_called<int> instantiated;  // expected-note {{in instantiation of member function 'never_called<int>::main' requested here}}
