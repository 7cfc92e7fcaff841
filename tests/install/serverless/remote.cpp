// SPDX-License-Identifier: Apache-2.0
#include <cppless/cppless.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

int main() {
  cppless::instance instance = cppless::default_dispatcher().create_instance();
  const int base = 40;
  auto where = cppless::async(instance, [base](int more) {
    const char* const name = std::getenv("AWS_LAMBDA_FUNCTION_NAME");
    return std::to_string(base + more) + " from " + (name == nullptr ? "here" : name);
  }, 2);
  std::puts(where.get().c_str());
}
