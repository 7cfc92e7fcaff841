// SPDX-License-Identifier: Apache-2.0
// RUN: output -fplugin-arg-cppless-source-root=%S
// OUT: paper_figure_8_dispatch.cpp@main()::lambda#1() called with 7
// Paper, Figure 8: reflection, identification and serialisation together. Pseudocode there:
// `serialize` and `invoke` are given the simplest meaning; `lambda` is a reference, so the
// reference is taken off before its type is asked, and `template` is written where C++ wants it.
#include <cstdio>
#include <string>
#include <type_traits>

#include "../../plugin/stable_name.hpp"

std::string serialize(int value) { return std::to_string(value); }
void invoke(const char* func_id, const std::string& first_capture) {
  std::printf("%s called with %s\n", func_id, first_capture.c_str());
}

template <typename Func>
void dispatch_function(Func& lambda) {
  // Cppless Language Extension: Lambda Reflection
  constexpr int capture_count = std::remove_reference_t<decltype(lambda)>::capture_count();
  static_assert(capture_count == 1);
  auto first_capture = serialize(lambda.template capture<0>());

  // Unique lambda names, backed by sycl-unique-stable-name but with inline namespaces disabled
  auto func_id = __builtin_unique_stable_name(std::remove_reference_t<decltype(lambda)>);
  invoke(func_id, first_capture);
}

int main() {
  int value = 7;
  auto lambda = [value] { return value; };
  dispatch_function(lambda);
}
