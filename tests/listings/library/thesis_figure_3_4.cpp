// SPDX-License-Identifier: Apache-2.0
// RUN: output
// OUT: 1
// OUT: 0
// Thesis figure 3.4: a client dispatches two tasks; the second finishes first, and wait_one says so.
// The figure is a diagram; this is the program it draws.
#include <cppless/cppless.hpp>

#include <chrono>
#include <iostream>
#include <thread>

int main() {
  auto instance = cppless::local_dispatcher({.workers = 2}).create_instance();
  int result0 = 0, result1 = 0;
  auto task = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return milliseconds;
  };
  const auto id0 = cppless::dispatch(instance, task, result0, {2000});
  const auto id1 = cppless::dispatch(instance, task, result1, {0});
  for (int i = 0; i < 2; ++i) {
    const auto id = instance.wait_one().id;
    if (id == id0) std::cout << 0 << std::endl;
    if (id == id1) std::cout << 1 << std::endl;
  }
}
