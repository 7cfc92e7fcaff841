// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "under_test.hpp"

TEST_CASE("A task deduces its signature from a lambda and is dispatched like one") {
  auto instance = make_instance();
  const int n = 5;
  cppless::task t = [=](int x) { return x + n; };
  static_assert(std::is_same_v<decltype(t), cppless::task<int(int)>>);
  cppless::task text = [](const std::string& s, double) { return s.size(); };
  static_assert(std::is_same_v<decltype(text), cppless::task<std::size_t(std::string, double)>>);
  int result = 0;
  cppless::dispatch(instance, t, result, {37});
  cppless::wait(instance, 1);
  CHECK(result == 42);
  CHECK(cppless::async(instance, text, "four", 1.0).get() == 4);
}

TEST_CASE("Copies of a task share the callable and outlive the original") {
  auto instance = make_instance();
  std::vector<cppless::task<std::string(int)>> tasks;
  {
    const std::string word = "word";
    cppless::task<std::string(int)> original = [word](int x) { return word + std::to_string(x); };
    tasks.push_back(original);
    tasks.push_back(tasks[0]);
    original = [](int x) { return std::to_string(-x); };
    tasks.push_back(std::move(original));
  }
  tasks[1] = tasks[0];
  CHECK(cppless::async(instance, tasks[0], 1).get() == "word1");
  CHECK(cppless::async(instance, tasks[1], 2).get() == "word2");
  CHECK(cppless::async(instance, tasks[2], 3).get() == "-3");
}

TEST_CASE("A task made with a configuration keeps it, and void tasks work") {
  using config = cppless::lambda::config<cppless::lambda::with_timeout<60>>;
  auto instance = make_instance();
  auto configured = cppless::task<int(int)>::with<config>([](int x) { return x + 100; });
  CHECK(cppless::async(instance, configured, 1).get() == 101);
  cppless::task void_task = [](int) {};
  cppless::dispatch(instance, void_task, {4});
  cppless::wait(instance, 1);
  cppless::task holds_move_only = [owned = std::make_unique<int>(8)] { return *owned; };
  CHECK(cppless::async(instance, holds_move_only).get() == 8);
}
