// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "under_test.hpp"

using namespace std::chrono_literals;

namespace {

int fibonacci(int n) {
  if (n < 2) return n;
  auto instance = make_instance();
  auto left = cppless::async(instance, cppless::fn<&fibonacci>, n - 1);
  auto right = cppless::async(instance, cppless::fn<&fibonacci>, n - 2);
  return left.get() + right.get();
}

// Each level waits for one task of the next.
int chain(int depth) {
  if (depth == 0) return 0;
  auto instance = make_instance();
  int below = 0;
  cppless::dispatch(instance, cppless::fn<&chain>, below, {depth - 1});
  instance.wait_one();
  return below + 1;
}

int chain_on_default(int depth) {
  return depth == 0 ? 0 : cppless::dispatch(cppless::fn<&chain_on_default>, depth - 1) + 1;
}

int tree(int depth, int fan_out) {
  if (depth == 0) return 1;
  auto instance = make_instance();
  std::vector<int> leaves(fan_out);
  for (int& each : leaves) {
    cppless::dispatch(instance, cppless::fn<&tree>, each, {depth - 1, depth == 3 ? 4 : 5});
  }
  cppless::wait(instance, leaves.size());
  return std::accumulate(leaves.begin(), leaves.end(), 0);
}

int throws_below(int depth) {
  if (depth == 0) throw std::domain_error("from the bottom");
  auto instance = make_instance();
  return cppless::async(instance, cppless::fn<&throws_below>, depth - 1).get();
}

}  // namespace

TEST_CASE("A task may dispatch tasks and wait for them") {
  auto instance = make_instance();
  CHECK(cppless::async(instance, cppless::fn<&fibonacci>, 8).get() == 21);
}

TEST_CASE("Nested tasks three deep with a fan-out of twenty all finish") {
  auto instance = make_instance();
  CHECK(cppless::async(instance, cppless::fn<&tree>, 3, 20).get() == 20 * 4 * 5);
}

TEST_CASE("Many tasks that nest at once do not starve each other") {
  auto instance = make_instance();
  const auto results =
      cppless::map(instance, std::vector<int>(16, 5), cppless::fn<&fibonacci>);
  CHECK(results == std::vector<int>(16, 5));
}

TEST_CASE("Nesting on the default instance works like on an own one") {
  CHECK(cppless::dispatch(cppless::fn<&chain_on_default>, 12) == 12);
}

TEST_CASE("A chain of waiting tasks may be longer than the number of processes") {
  // 256 processes stand in for waiting ones; beyond that a task runs inside the one that waits.
  const int depth = is_sanitized ? 20 : 300;
  auto instance = make_instance();
  CHECK(cppless::async(instance, cppless::fn<&chain>, depth).get() == depth);
}

TEST_CASE("A chain on the default instance may be longer than the number of processes") {
  const int depth = is_sanitized ? 20 : 300;
  CHECK(cppless::dispatch(cppless::fn<&chain_on_default>, depth) == depth);
}

TEST_CASE("An exception passes through the levels of tasks, its story with it") {
  auto instance = make_instance();
  auto future = cppless::async(instance, cppless::fn<&throws_below>, 2);
  const caught error = error_of([&] { future.get(); });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.remote_type == "cppless::task_failed");
  CHECK(error.says("from the bottom"));
  CHECK(error.says("std::domain_error"));
}

TEST_CASE("A task sees its own task's error as the host would") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    auto inner = make_instance();
    auto bad = cppless::async(inner, []() -> int { throw std::range_error("inner"); });
    try {
      bad.get();
    } catch (const cppless::task_failed& error) {
      return error.remote_type() + "/" + (error.id() != 0 ? "id" : "no id");
    }
    return std::string("nothing thrown");
  });
  CHECK(future.get() == "std::range_error/id");
}

TEST_CASE("Payloads and results of nested tasks are of any size") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    auto inner = make_instance();
    std::size_t sum = 0;
    for (const std::size_t size : {0, 1, 40, 41, 88, 89, 4096, 3'000'000}) {
      const std::string text(size, 'n');
      auto echo = cppless::async(inner, [](const std::string& s) { return s + "!"; }, text);
      const std::string back = echo.get();
      if (back != text + "!") return std::size_t{0};
      sum += back.size();
    }
    return sum;
  });
  CHECK(future.get() == 0 + 1 + 40 + 41 + 88 + 89 + 4096 + 3'000'000 + 8);
}

TEST_CASE("A task may dispatch many tasks before it waits") {
  int count = scaled(2000);
  auto instance = make_instance();
  auto future = cppless::async(instance, [count] {
    auto inner = make_instance();
    std::vector<int> results(count);
    for (int i = 0; i < static_cast<int>(results.size()); ++i) {
      cppless::dispatch(inner, [](int x) { return x; }, results[i], {i});
    }
    cppless::wait(inner, count);
    return std::accumulate(results.begin(), results.end(), 0L);
  });
  CHECK(future.get() == static_cast<long>(count) * (count - 1) / 2);
}

TEST_CASE("A task may map, combine and continue tasks of its own") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    auto inner = make_instance();
    auto squares = cppless::map(inner, std::vector{1, 2, 3}, [](int x) { return x * x; });
    std::vector<cppless::future<int>> futures;
    for (const int each : squares) {
      futures.push_back(cppless::async(inner, [](int x) { return x + 1; }, each).then([](int x) {
        return 10 * x;
      }));
    }
    const auto all = cppless::when_all(std::move(futures)).get();
    return std::accumulate(all.begin(), all.end(), 0);
  });
  CHECK(future.get() == 170);
}

TEST_CASE("Nested statistics are those of the nested task") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    auto inner = make_instance();
    cppless::dispatch(inner, [] { std::this_thread::sleep_for(20ms); });
    const auto [id, statistics] = inner.wait_one();
    return id != 0 && statistics.attempts == 1 && statistics.run >= 20ms &&
           statistics.run + statistics.queue <= statistics.total;
  });
  CHECK(future.get());
}

TEST_CASE("The time a task waits for its own tasks is told apart") {
  if (variable("CPPLESS_DISPATCHER") != "local") return;
  auto instance = make_instance();
  bool has_slept = false;
  cppless::dispatch(instance, [] {
    auto inner = make_instance();
    cppless::async(inner, [] { std::this_thread::sleep_for(60ms); }).get();
    std::this_thread::sleep_for(10ms);
    return true;
  }, has_slept);
  const auto statistics = instance.wait_one().statistics;
  CHECK(has_slept);
  CHECK(statistics.waited >= 50ms);
  CHECK(statistics.run - statistics.waited >= 10ms);
}

TEST_CASE("A task may cancel its own tasks, waiting or running") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    auto inner = make_instance();
    std::vector<cppless::future<void>> sleepers;
    for (int i = 0; i < 6; ++i) {
      sleepers.push_back(cppless::async(inner, [] { sleep_for_ever(); }));
    }
    sleepers[0].wait_for(50ms);  // some run by now
    int cancelled = 0;
    for (auto& each : sleepers) each.cancel();
    for (auto& each : sleepers) {
      try {
        each.get();
      } catch (const cppless::cancelled&) {
        ++cancelled;
      }
    }
    return cancelled;
  });
  CHECK(future.get() == 6);
}

TEST_CASE("A task that returns with tasks of its own outstanding ends them") {
  auto instance = make_instance();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    auto future = cppless::async(instance, [] {
      auto inner = make_instance();
      for (int child = 0; child < 8; ++child) {
        (void)cppless::async(inner, [] { run_for_ever(); });
      }
      return 5;
    });
    CHECK(future.get() == 5);
  }
  CHECK(cppless::async(instance, [] { return 6; }).get() == 6);
  CHECK(std::chrono::steady_clock::now() - begin < 30s);
}

TEST_CASE("A cancelled task takes its running tasks with it") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  auto parent = cppless::async(instance, [] {
    auto inner = make_instance();
    cppless::map(inner, std::vector<int>(8), [](int) { run_for_ever(); });
  });
  parent.wait_for(200ms);
  CHECK(parent.cancel());
  CHECK(error_of([&] { parent.get(); }).kind == cppless::error_kind::cancelled);
  // The workers are free again.
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 8; ++i) futures.push_back(cppless::async(instance, [](int x) { return x; }, i));
  for (int i = 0; i < 8; ++i) {
    REQUIRE(futures[i].wait_for(30s));
    CHECK(futures[i].get() == i);
  }
}

TEST_CASE("A task that waits with a time limit goes on when it is over") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    auto inner = make_instance();
    // Ends by itself: a single worker would otherwise have none for the quick task. In one process it
    // is told, as a busy machine may not come back to the one that waits for a while.
    static std::atomic<bool> is_over{false};
    auto slow = cppless::async(inner, [] {
      const int most = has_processes() ? 500 : 30'000;
      for (int i = 0; i < most && !is_over; ++i) std::this_thread::sleep_for(1ms);
    });
    const bool in_time = slow.wait_for(50ms);
    is_over = true;
    auto quick = cppless::async(inner, [] { return 4; });
    return quick.get() + (in_time ? 100 : 0);
  });
  CHECK(future.get() == 4);
}

TEST_CASE("Threads of a task may each use an instance") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&sum, t] {
        auto inner = make_instance();
        for (int i = 0; i < 25; ++i) {
          sum += cppless::async(inner, [](int x) { return x; }, t).get();
        }
      });
    }
    for (auto& each : threads) each.join();
    return sum.load();
  });
  CHECK(future.get() == 25 * (0 + 1 + 2 + 3));
}
