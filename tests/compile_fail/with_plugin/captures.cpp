// SPDX-License-Identifier: Apache-2.0
// RUN: verify -Wno-deprecated-this-capture
// What must not be captured, however the lambda becomes a task.
#include <cppless/cppless.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

class opaque {  // expected-note 0+ {{give 'opaque' a member}}
  int secret_ = 1;

 public:
  explicit opaque(int);
};

void by_dispatch(cppless::instance& instance) {
  int a = 1, result = 0;
  auto reference = [&a] { return a; };  // expected-error {{a task cannot capture 'a' by reference: the variable stays behind in the host process; capture it by value, as in [a], and return what changes}}
  cppless::dispatch(instance, reference, result);  // expected-note 0+ {{it is made a task here}}
}

void by_async(cppless::instance& instance, int* pointer) {
  auto raw = [pointer] { return *pointer; };  // expected-error {{a task cannot capture the raw pointer 'pointer' of type 'int *': what it points to stays behind in the host process}}
  cppless::async(instance, raw);  // expected-note 0+ {{it is made a task here}}
}

void by_map(cppless::instance& instance, const char* text) {
  auto raw = [text](int i) { return text[i]; };  // expected-error {{a task cannot capture the raw pointer 'text' of type 'const char *'}}
  cppless::map(instance, std::vector<int>{1}, raw);  // expected-note 0+ {{it is made a task here}}
}

void by_task(int (*called)(int)) {
  auto pointer = [called] { return called(1); };  // expected-error {{a task cannot capture the function pointer 'called': addresses differ between processes; call the function by its name, or dispatch cppless::fn<&function>}}
  cppless::task made = pointer;  // expected-note 0+ {{it is made a task here}}
}

struct owner {
  int member = 1;
  void go() {
    auto whole = [this] { return member; };  // expected-error {{a task cannot capture 'this': the object stays behind in the host process; capture a copy with [*this], or the members it uses, as in [member = member]}}
    cppless::dispatch(whole);  // expected-note 0+ {{it is made a task here}}
  }
};

void unserialisable(cppless::instance& instance, const opaque& o) {
  auto closed = [o] {};  // expected-error {{the capture 'o' of type 'opaque' cannot be sent to a task: 'opaque' is not an aggregate: it has private members, constructors or virtual functions}}
  cppless::async(instance, closed);  // expected-note 0+ {{it is made a task here}}
  auto locked = [m = std::make_shared<std::mutex>()] {};  // expected-error {{'std::mutex' cannot be copied to another process}}
  cppless::async(instance, locked);  // expected-note 0+ {{it is made a task here}}
  int local = 0;
  auto inner = [&local] { return local; };  // expected-error {{a task cannot capture 'local' by reference}}
  auto outer = [inner] { return inner(); };
  cppless::async(instance, outer);  // expected-note 0+ {{it is made a task here}}
}
