// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// Arguments and results that cannot travel.
#include <cppless/cppless.hpp>

#include <string>
#include <vector>

class opaque {  // expected-note 0+ {{give 'opaque' a member}}
  int secret_ = 1;

 public:
  explicit opaque(int);
};

void arguments(cppless::instance& instance) {
  auto pointer = [](int* p) { return *p; };  // expected-error {{the parameter 'p' of this task, of type 'int *', cannot be sent: 'int *' is a raw pointer}}
  int x = 0;
  cppless::async(instance, pointer, &x);  // expected-note 0+ {{it is made a task here}}
  auto closed = [](const opaque& given) {};  // expected-error {{the parameter 'given' of this task, of type 'opaque', cannot be sent}}
  cppless::async(instance, closed, opaque(1));  // expected-note 0+ {{it is made a task here}}
}

void results(cppless::instance& instance) {
  auto closed = [] { return opaque(1); };  // expected-error {{the result of this task, of type 'opaque', cannot be sent back: 'opaque' is not an aggregate}}
  cppless::async(instance, closed);  // expected-note 0+ {{it is made a task here}}
  auto pointers = [] { return std::vector<int*>(); };  // expected-error {{the result of this task, of type 'std::vector<int *>', cannot be sent back: 'int *' is a raw pointer}}
  cppless::async(instance, pointers);  // expected-note 0+ {{it is made a task here}}
}
