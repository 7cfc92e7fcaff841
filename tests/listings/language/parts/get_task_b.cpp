// SPDX-License-Identifier: Apache-2.0
// b.cpp of the listing in thesis_3_1_3_stable_name.cpp
#include "../../../plugin/stable_name.hpp"

static inline auto get_task() {
  return []() { return 12; };
}
auto get_task_b() {
  return __builtin_unique_stable_name(decltype(get_task()));
}
auto get_task_b_name() -> const char* { return get_task_b(); }
