// SPDX-License-Identifier: Apache-2.0
// RUN: output -O2
// OUT: 13
// Thesis 3.3: the graph builder. The listing begins with a builder that is there.
#include <cppless/cppless.hpp>

#include <iostream>

int main() {
  cppless::local_dispatcher dispatcher;
  cppless::graph::builder builder{dispatcher};

  auto a = schedule(builder);
  auto b = then(a, []() { return 12; });
  auto c = then(b, [](int m) { return m + 1; });
  auto f = c->future();
  builder.await_all();
  std::cout << f.value() << std::endl;
}
