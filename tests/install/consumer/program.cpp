// SPDX-License-Identifier: Apache-2.0
// Prints "42 1764 elsewhere": a sum made in a worker, its square made by the shared library's task,
// and whether the worker was another process.
#include <cppless/cppless.hpp>
#include <unistd.h>

#include <cstdio>

#include "library.hpp"

namespace {
int process_id() { return static_cast<int>(getpid()); }
}  // namespace

int main() {
  cppless::local_dispatcher dispatcher;
  cppless::instance instance = dispatcher.create_instance();
  int base = 40;
#ifdef __CPPLESS_PLUGIN__
  auto sum = cppless::async(instance, [base](int x) { return base + x; }, 2);
#else
  auto add = [](int left, int right) { return left + right; };
  auto sum = cppless::async(instance, cppless::bind(add, base), 2);
#endif
  auto process = cppless::async(instance, cppless::fn<&process_id>);
  const int value = sum.get();
  std::printf("%d %d %s\n", value, square_elsewhere(value),
              process.get() != process_id() ? "elsewhere" : "here");
}
