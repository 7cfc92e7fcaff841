// SPDX-License-Identifier: Apache-2.0
// ERROR: the result of this task cannot be serialised
#include <cppless/graph.hpp>
#include <cppless/dispatchers.hpp>

int main() {
  cppless::graph::builder builder{cppless::local_dispatcher()};
  then(schedule(builder), []() -> int* { return nullptr; });
}
