// SPDX-License-Identifier: Apache-2.0
// ERROR: this node's callable cannot be called with the results of the nodes it depends on, in their order
#include <cppless/graph.hpp>
#include <cppless/dispatchers.hpp>

#include <string>

int main() {
  cppless::graph::builder builder{cppless::local_dispatcher()};
  auto a = then(schedule(builder), [] { return std::string("text"); });
  then(a, [](int x) { return x; });
}
