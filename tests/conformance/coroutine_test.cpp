// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/coroutine.hpp>

#include "under_test.hpp"

namespace {

cppless::future<int> pipeline(cppless::instance& workers, int from) {
  const int m = co_await cppless::async(workers, [](int x) { return x + 12; }, from);
  co_return co_await cppless::async(workers, [](int x) { return x + 1; }, m);
}

cppless::future<void> collect(cppless::instance& workers, int count, std::vector<int>& to) {
  for (int i = 0; i < count; ++i) {
    to.push_back(co_await cppless::async(workers, [](int x) { return x; }, i));
  }
}

cppless::future<std::string> caught_in(cppless::instance& workers) {
  try {
    co_await cppless::async(workers, [] { throw std::out_of_range("of the task"); });
  } catch (const cppless::task_failed& error) {
    co_return error.remote_type();
  }
  co_return "nothing was thrown";
}

cppless::future<int> throwing(cppless::instance& workers) {
  co_await cppless::async(workers, [] {});
  throw std::runtime_error("of the coroutine");
}

cppless::future<int> sum_of(std::vector<cppless::future<int>> futures) {
  int sum = 0;
  for (const int each : co_await cppless::when_all(std::move(futures))) sum += each;
  co_return sum;
}

cppless::future<int> endless(cppless::instance& workers) {
  co_return co_await cppless::async(workers, [] {
    run_for_ever();
    return 0;
  });
}

cppless::future<int> of_nothing() { co_return 4; }

}  // namespace

TEST_CASE("A coroutine goes on with each awaited result, and its own is a future") {
  auto instance = make_instance();
  CHECK(pipeline(instance, 0).get() == 13);
  CHECK(pipeline(instance, 1).then([](int x) { return 2 * x; }).get() == 28);
  CHECK(of_nothing().get() == 4);
  std::vector<cppless::future<int>> several;
  for (int i = 0; i < 5; ++i) several.push_back(pipeline(instance, i));
  CHECK(sum_of(std::move(several)).get() == 5 * 13 + 10);
}

TEST_CASE("A coroutine may await many futures, one after another") {
  auto instance = make_instance();
  std::vector<int> collected;
  collect(instance, scaled(1000), collected).get();
  REQUIRE(collected.size() == static_cast<std::size_t>(scaled(1000)));
  CHECK(collected.back() == scaled(1000) - 1);
}

TEST_CASE("Errors of tasks are thrown where they are awaited, those of coroutines by their future") {
  auto instance = make_instance();
  CHECK(caught_in(instance).get() == "std::out_of_range");
  auto future = throwing(instance);
  CHECK_THROWS_WITH_AS(future.get(), "of the coroutine", std::runtime_error);
}

TEST_CASE("Nodes of graphs can be awaited, and coroutines be depended on") {
  auto instance = make_instance();
  cppless::graph::builder builder{instance};
  auto start = schedule(builder);
  auto node = then(start, pipeline(instance, 2), [](int x) { return x + 1; });
  auto doubled = [](cppless::future<int> f) -> cppless::future<int> {
    co_return 2 * co_await std::move(f);
  }(node->future());
  CHECK(doubled.get() == 32);
}

TEST_CASE("A coroutine that waits when its instance is closed is told so") {
  std::vector<cppless::future<int>> waiting;
  {
    auto instance = make_instance();
    for (int i = 0; i < 3; ++i) waiting.push_back(endless(instance));
  }
  for (auto& each : waiting) {
    const caught error = error_of([&] { each.get(); });
    CHECK(error.kind == cppless::error_kind::cancelled);
  }
}
