// SPDX-License-Identifier: Apache-2.0
// RUN: verify -Wno-deprecated-this-capture
// RUN: verify -O2 -g -Wno-deprecated-this-capture
#include "task.hpp"

int function(int);

struct object {
  int member = 1;
  void go() {
    dispatch([this] { return member; });  // expected-error {{a task cannot capture 'this': the object stays behind in the host process; capture a copy with [*this], or the members it uses, as in [member = member]}} expected-note {{it is made a task here}}
    dispatch([=] { return member; });  // expected-error {{a task cannot capture 'this'}} expected-note {{it is made a task here}}
    dispatch([*this] { return member; });
    dispatch([member = member] { return member; });
  }
};

// Once per lambda expression, not per instantiation.
template <class T>
void in_template(T value) {
  dispatch([&value] { return value; });  // expected-error {{a task cannot capture 'value' by reference}}
}

int main() {
  int a = 1, *pointer = &a;
  const char* text = "text";
  int (*called)(int) = function;
  int* pointers[2] = {};
  dispatch([a] { return a; });
  dispatch([&a] { return a; });  // expected-error {{a task cannot capture 'a' by reference: the variable stays behind in the host process; capture it by value, as in [a], and return what changes}} expected-note {{it is made a task here}}
  dispatch([&] { return a; });  // expected-error {{a task cannot capture 'a' by reference}} expected-note {{it is made a task here}}
  dispatch([&r = a] { return r; });  // expected-error {{a task cannot capture 'r' by reference: the variable stays behind in the host process; capture it by value, and return what changes}} expected-note {{it is made a task here}}
  dispatch([pointer] { return *pointer; });  // expected-error {{a task cannot capture the raw pointer 'pointer' of type 'int *': what it points to stays behind in the host process; capture the value, as in [pointer = *pointer], or a container or std::shared_ptr that owns it}} expected-note {{it is made a task here}}
  dispatch([=] { return text[0]; });  // expected-error {{a task cannot capture the raw pointer 'text' of type 'const char *': what it points to stays behind in the host process; capture a string, as in [text = std::string(text)]}} expected-note {{it is made a task here}}
  dispatch([called] { return called(1); });  // expected-error {{a task cannot capture the function pointer 'called': addresses differ between processes; call the function by its name, or dispatch cppless::fn<&function>}} expected-note {{it is made a task here}}
  dispatch([pointers] { return pointers[0]; });  // expected-error {{a task cannot capture the raw pointer 'pointers'}} expected-note {{it is made a task here}}
  in_template(1);  // expected-note {{it is made a task here}}
  in_template(2.0);
  auto inner = [&a] { return a; };  // expected-error {{a task cannot capture 'a' by reference}}
  dispatch([inner] { return inner(); });  // expected-note {{it is made a task here}}
}
