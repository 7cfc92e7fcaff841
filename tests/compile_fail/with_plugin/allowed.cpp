// SPDX-License-Identifier: Apache-2.0
// RUN: verify
// expected-no-diagnostics
#include <cppless/cppless.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

struct owner {
  int member = 1;
  void go(cppless::instance& instance) { cppless::async(instance, [*this] { return member; }); }
};

void captures(cppless::instance& instance, std::map<std::string, std::vector<int>> table) {
  const auto shared = std::make_shared<std::string>("text");
  const auto inner = [table](int i) { return table.size() + i; };
  cppless::async(instance, [=](double) { return *shared + std::to_string(inner(1)); }, 2.0);
}
