// SPDX-License-Identifier: Apache-2.0
// ERROR: this node's callable cannot be called with the results of the nodes it depends on, in their order
#include <cppless/graph.hpp>
#include <cppless/dispatchers.hpp>

int main() {
  cppless::graph::builder builder{cppless::local_dispatcher()};
  cppless::task twice = [](long x) { return 2 * x; };
  then(then(schedule(builder), [] { return 1; }), twice);
}
