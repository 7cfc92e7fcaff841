// SPDX-License-Identifier: Apache-2.0
// RUN: verify
#include <iostream>

#include "task.hpp"

int global;
const int constant = 4;
namespace cppless {
struct local_dispatcher {};
}  // namespace cppless
cppless::local_dispatcher dispatcher;  // a dispatcher is a recipe and may be global
struct object {
  static int shared;
  static const int fixed = 3;
};

int main() {
  static int counter;
  dispatch([] {
    ++global;  // expected-warning {{this task uses the global variable 'global', which is not const: each worker process has its own, so a change is seen neither by the host nor by other tasks}}
    counter = 2;  // expected-warning {{this task uses the static variable 'counter', which is not const}}
    object::shared = 2;  // expected-warning {{this task uses the static member 'shared', which is not const}}
    object o;
    o.shared = 3;  // expected-warning {{this task uses the static member 'shared', which is not const}}
    [] { global = 2; }();  // expected-warning {{this task uses the global variable 'global', which is not const}}
    static int own = 1;
    (void)dispatcher;
    std::cout << constant + object::fixed << sizeof(global);
    return own;  // expected-warning {{this task uses the static variable 'own', which is not const}}
  });
  dispatch([](auto x) { return x + global; });  // expected-warning {{this task uses the global variable 'global', which is not const}}
}
