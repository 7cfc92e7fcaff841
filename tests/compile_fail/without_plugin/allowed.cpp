// SPDX-License-Identifier: Apache-2.0
// ERROR-FREE
#include <cppless/cppless.hpp>

#include <string>
#include <vector>

int twice(int x) { return 2 * x; }

struct scale {
  double factor;
  double operator()(double x) const { return factor * x; }
};

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  int result = 0;
  cppless::dispatch(instance, [](int x) { return x; }, result, {1});
  cppless::dispatch(instance, cppless::fn<&twice>, result, {1});
  cppless::async(instance, cppless::bind([](int n, int x) { return n * x; }, 3), 4);
  cppless::async(instance, scale{2}, 1);
  cppless::map(instance, std::vector<std::string>{"a"}, [](auto s) { return s + "!"; });
}
