// SPDX-License-Identifier: Apache-2.0
// ERROR: a future is given up to the graph: pass std::move(future)
#include <cppless/dispatchers.hpp>
#include <cppless/graph.hpp>

int main() {
  cppless::instance workers = cppless::inline_dispatcher().create_instance();
  cppless::graph::builder builder{workers};
  cppless::future<int> f = cppless::async(workers, [] { return 1; });
  then(schedule(builder), f, [](int x) { return x; });
}
