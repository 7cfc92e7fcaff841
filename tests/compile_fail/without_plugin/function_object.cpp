// SPDX-License-Identifier: Apache-2.0
// ERROR: this callable has state that cppless cannot send
#include <cppless/cppless.hpp>

class closed {
 public:
  explicit closed(int value) : value_(value) {}
  int operator()() const { return value_; }

 private:
  int value_;
};

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  cppless::async(instance, closed(1));
}
