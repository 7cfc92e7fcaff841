// SPDX-License-Identifier: Apache-2.0
// RUN: verify
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "task.hpp"

class widget {  // expected-note 5 {{give 'widget' a member: template <class Archive> void serialize(Archive& archive) { archive(a, name); }}}
  int a;
  std::string name;

 public:
  widget(int);
};
struct deep {
  struct {
    std::vector<int*> pointers;
  } inner;
};
struct bits {  // expected-note {{give 'bits' a member: template <class Archive> void serialize(Archive& archive) { archive(flag); }}}
  unsigned flag : 1;
};
struct carray {  // expected-note {{give 'carray' a member}}
  int values[3];
};
struct derived : bits {  // expected-note {{give 'derived' a member}}
  int own;
};
struct shape {
  virtual ~shape();
};
struct odd {  // expected-note {{give 'odd' a member}}
  int x;
};
struct with_code {
  int* pointer;
  template <class Archive>
  void serialize(Archive&);
};

widget result(std::vector<int*> values);  // expected-error {{the parameter 'values' of this task, of type 'std::vector<int *>', cannot be sent: 'int *' is a raw pointer}}

template <auto F>
struct function_object {};

void captures(const widget& w, const deep& d, const carray& c, const derived& e, std::mutex* m) {
  auto a = [w] {};  // expected-error {{the capture 'w' of type 'widget' cannot be sent to a task: 'widget' is not an aggregate: it has private members, constructors or virtual functions}}
  bad_capture<0>(a);  // expected-note {{it is made a task here}}
  auto b = [many = std::vector<widget>()] {};  // expected-error {{the capture 'many' of type 'std::vector<widget>' cannot be sent to a task: 'widget' is not an aggregate}}
  bad_capture<0>(b);  // expected-note {{it is made a task here}}
  auto f = [d] {};  // expected-error {{the capture 'd' of type 'deep' cannot be sent to a task: member 'inner.pointers' of type 'int *' is a raw pointer; use a container, std::unique_ptr or std::shared_ptr}}
  bad_capture<0>(f);  // expected-note {{it is made a task here}}
  auto g = [c, x = bits()] {};  // expected-error {{member 'values' is a C array; use std::array}} expected-error {{member 'flag' is a bit-field}}
  bad_capture<0>(g);  // expected-note {{it is made a task here}}
  bad_capture<1>(g);  // expected-note {{it is made a task here}}
  auto h = [e] {};  // expected-error {{'derived' has a base class}}
  bad_capture<0>(h);  // expected-note {{it is made a task here}}
  auto i = [p = std::shared_ptr<std::mutex>()] {};  // expected-error {{'std::mutex' cannot be copied to another process: locks work within one process only}}
  bad_capture<0>(i);  // expected-note {{it is made a task here}}
  auto j = [p = std::shared_ptr<shape>()] {};  // expected-error {{'shape' has virtual functions: include <cereal/types/polymorphic.hpp> and register its derived classes with CEREAL_REGISTER_TYPE}}
  bad_capture<0>(j);  // expected-note {{it is made a task here}}
  auto k = [f = std::function<int()>()] {};  // expected-error {{std::function hides what it calls; make it a cppless::task or capture the lambda itself}}
  bad_capture<0>(k);  // expected-note {{it is made a task here}}
  auto l = [v = std::string_view()] {};  // expected-error {{it is a view of memory that stays behind; use the container that owns the elements}}
  bad_capture<0>(l);  // expected-note {{it is made a task here}}
  auto n = [o = odd()] {};  // expected-error {{neither cppless nor cereal knows how to serialise 'odd'}}
  bad_capture<0>(n);  // expected-note {{it is made a task here}}
  auto o = [s = with_code()] {};  // expected-error {{neither cppless nor cereal knows how to serialise 'with_code'}}
  bad_capture<0>(o);  // expected-note {{it is made a task here}} expected-note@40 {{give 'with_code' a member}}
  auto q = [m] {};
  bad_capture<0>(q);  // a raw pointer: left to `dispatched`
}

void signatures(const widget& w) {
  auto a = [](widget first, int*) -> widget { return first; };  // expected-error {{the parameter 'first' of this task, of type 'widget', cannot be sent}} expected-error {{the parameter number 2 of this task, of type 'int *', cannot be sent: 'int *' is a raw pointer}} expected-error {{the result of this task, of type 'widget', cannot be sent back: 'widget' is not an aggregate}}
  bad_signature<0, widget>(a);  // expected-note {{it is made a task here}}
  bad_signature<1, int*>(a);  // expected-note {{it is made a task here}}
  bad_signature<-1, widget>(a);  // expected-note {{it is made a task here}}
  bad_signature<0, std::vector<int*>>(function_object<&result>());  // expected-note {{it is made a task here}}
  auto b = [w] {};  // expected-error {{the capture 'w' of type 'widget' cannot be sent to a task}}
  auto c = [b] {};
  bad_capture<0>(c);  // expected-note {{it is made a task here}}
}
