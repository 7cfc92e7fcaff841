// SPDX-License-Identifier: Apache-2.0
// RUN: driver
// RUN: driver -O2 -g
// RUN: driver -fuse-ld=lld -ffunction-sections -Wl,--gc-sections
// OUT: a.out: main
// OUT: a_alt_0.out: internal 1
// OUT: a_alt_1.out: with environment
// OUT: a_alt_2.out: static member
// OUT: a_alt_3.out: bridge one: lambda 1
// OUT: a_alt_4.out: nested
// OUT: a_alt_5.out: bridge one: lambda 2
// OUT: a_alt_6.out: nested
#include <cstdio>

template <unsigned N>
struct fixed_string {
  char value[N];
  constexpr fixed_string(const char (&text)[N]) {
    for (unsigned i = 0; i < N; ++i) {
      value[i] = text[i];
    }
  }
};

namespace {
__attribute__((entry)) int internal(int argc, char**) { std::printf("internal %d\n", argc); }
}  // namespace
[[cppless::entry]] int with_environment(int, char**, char** environment) {
  std::puts(environment != nullptr ? "with environment" : "without");
}
struct plain {
  __attribute__((entry)) static int start(int, char**) { std::puts("static member"); }
};

// Emitted because the class is instantiated; nobody calls main or nested::main.
template <class Function, fixed_string Name>
struct bridge {
  __attribute__((entry, metadata(Name))) static int main(int, char**) {
    std::printf("bridge %s: ", Name.value);
    Function{}();
  }
  struct nested {
    __attribute__((entry, metadata("nested"))) static int main(int, char**) { std::puts("nested"); }
  };
};
template <class Function>
void use(Function) {
  bridge<Function, "one"> b;
  typename bridge<Function, "one">::nested n;
  (void)b;
  (void)n;
}

int main() {
  use([] { std::puts("lambda 1"); });
  use([] { std::puts("lambda 2"); });
  std::puts("main");
}
