// SPDX-License-Identifier: Apache-2.0
// RUN: output -fplugin-arg-cppless-source-root=%S
// ALSO: parts/get_task_b.cpp
// OUT: thesis_3_1_3_stable_name.cpp@get_task()::lambda#1()
// OUT: parts/get_task_b.cpp@get_task()::lambda#1()
// Thesis 3.1.3: two functions with one name and internal linkage, in two files; the names of their
// lambdas must differ. Printing slips mended: `__builtin_unique_stable_nam`, and
// `decltype(get_task)`, which is the type of the function, equal in both files, where its result
// is meant.
#include <cstdio>

#include "../../plugin/stable_name.hpp"

static inline auto get_task() {
  return []() { return 13; };
}
auto get_task_a() {
  return __builtin_unique_stable_name(decltype(get_task()));
}

auto get_task_b_name() -> const char*;

int main() {
  std::puts(get_task_a());
  std::puts(get_task_b_name());
}
