// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "under_test.hpp"

using namespace std::chrono_literals;

namespace {

void sleep_in_task(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Long enough that only cancellation ends it in time; inline it must never be started.
int endless() {
  run_for_ever();
  return 0;
}

}  // namespace

TEST_CASE("A future gives the result once and is invalid afterwards") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [](int x) { return std::to_string(x); }, 12);
  CHECK(future.valid());
  CHECK(future.get() == "12");
  CHECK_FALSE(future.valid());
  cppless::future<int> none;
  CHECK_FALSE(none.valid());
}

TEST_CASE("A future throws the task's error with the task's id") {
  auto instance = make_instance();
  auto good = cppless::async(instance, [] { return 1; });
  auto bad = cppless::async(instance, []() -> int { throw std::invalid_argument("bad input"); });
  const caught error = error_of([&] { bad.get(); });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.remote_type == "std::invalid_argument");
  CHECK(error.id != 0);
  CHECK(error.says("bad input"));
  CHECK(good.get() == 1);
}

TEST_CASE("Waiting longer than the task takes ends when it does, waiting shorter in time") {
  auto instance = make_instance();
  auto slow = cppless::async(instance, [] { sleep_in_task(300); });
  const auto begin = std::chrono::steady_clock::now();
  if (runs_by_itself()) {
    CHECK_FALSE(slow.wait_for(1ms));
    CHECK_FALSE(slow.ready());
    CHECK(std::chrono::steady_clock::now() - begin < 250ms);
  }
  CHECK(slow.wait_for(60s));
  CHECK(slow.ready());
  CHECK(slow.wait_for(0s));
  CHECK(std::chrono::steady_clock::now() - begin >= 300ms);
  slow.wait();
  slow.get();
}

TEST_CASE("Waiting for the longest time there is ends when the task does") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] { return 3; });
  CHECK(future.wait_for(std::chrono::hours::max()));
  CHECK(future.get() == 3);
}

TEST_CASE("A future becomes ready without anybody waiting for it") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  auto future = cppless::async(instance, [] { return 5; });
  const auto begin = std::chrono::steady_clock::now();
  while (!future.ready() && std::chrono::steady_clock::now() - begin < 30s) {
    std::this_thread::sleep_for(1ms);
  }
  CHECK(future.ready());
  CHECK(future.get() == 5);
}

TEST_CASE("then continues with the result, in a chain, and passes errors by") {
  auto instance = make_instance();
  auto text = cppless::async(instance, [](int x) { return x + 1; }, 1)
                  .then([](int x) { return x * 10; })
                  .then([](int x) { return std::to_string(x); });
  CHECK(text.get() == "20");

  bool ran = false;
  auto failed = cppless::async(instance, []() -> int { throw std::runtime_error("first"); })
                    .then([&](int x) {
                      ran = true;
                      return x;
                    });
  CHECK(error_of([&] { failed.get(); }).says("first"));
  CHECK_FALSE(ran);

  auto throws = cppless::async(instance, [] { return 1; }).then([](int) -> int {
    throw std::length_error("in the host");
  });
  CHECK_THROWS_AS(throws.get(), std::length_error);

  int seen = 0;
  auto nothing = cppless::async(instance, [] {}).then([&] { seen = 1; });
  nothing.get();
  CHECK(seen == 1);
}

TEST_CASE("then on a future that is ready runs at once") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] { return std::make_unique<int>(4); });
  future.wait();
  int seen = 0;
  auto next = future.then([&](std::unique_ptr<int> value) { seen = *value; });
  CHECK(seen == 4);
  CHECK(next.ready());
}

TEST_CASE("A continuation may dispatch further tasks and wait for them") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] { return 20; }).then([&](int x) {
    return cppless::async(instance, [](int y) { return y + 1; }, x).get();
  });
  CHECK(future.get() == 21);
}

TEST_CASE("when_all gives all results in order") {
  auto instance = make_instance();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 30; ++i) {
    futures.push_back(cppless::async(instance, [](int x) { return x * x; }, i));
  }
  const std::vector<int> results = cppless::when_all(std::move(futures)).get();
  REQUIRE(results.size() == 30);
  for (int i = 0; i < 30; ++i) CHECK(results[i] == i * i);
  CHECK(cppless::when_all(std::vector<cppless::future<int>>{}).get().empty());
}

TEST_CASE("when_all of futures without value is ready when all are") {
  auto instance = make_instance();
  std::vector<cppless::future<void>> futures;
  for (int i = 0; i < 5; ++i) futures.push_back(cppless::async(instance, [] {}));
  cppless::when_all(std::move(futures)).get();

  std::vector<cppless::future<void>> some_fail;
  for (int i = 0; i < 5; ++i) {
    some_fail.push_back(cppless::async(
        instance, [](int x) { if (x == 2) throw std::runtime_error("second"); }, i));
  }
  auto all = cppless::when_all(std::move(some_fail));
  CHECK(error_of([&] { all.get(); }).says("second"));
}

TEST_CASE("when_all reports the first error once all have finished") {
  auto instance = make_instance();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 10; ++i) {
    futures.push_back(cppless::async(
        instance,
        [](int x) {
          if (x % 4 == 3) throw std::runtime_error("task " + std::to_string(x));
          return x;
        },
        i));
  }
  auto all = cppless::when_all(std::move(futures));
  CHECK(error_of([&] { all.get(); }).says("task 3"));
}

TEST_CASE("when_any gives the first result and leaves the others alone") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  std::vector<cppless::future<std::string>> futures;
  futures.push_back(cppless::async(instance, [] {
    sleep_in_task(worker_count() == 1 ? 0 : 5000);
    return std::string("slow");
  }));
  futures.push_back(cppless::async(instance, [] { return std::string("fast"); }));
  const auto first = cppless::when_any(std::move(futures)).get();
  CHECK(first.index == (worker_count() == 1 ? 0 : 1));
  CHECK(first.value == (first.index == 0 ? "slow" : "fast"));
}

TEST_CASE("when_any gives an error if that comes first, and of no futures is rejected") {
  auto instance = make_instance();
  std::vector<cppless::future<int>> futures;
  futures.push_back(cppless::async(instance, []() -> int { throw std::runtime_error("oh"); }));
  auto any = cppless::when_any(std::move(futures));
  CHECK(error_of([&] { any.get(); }).says("oh"));
  CHECK(error_of([] { cppless::when_any(std::vector<cppless::future<int>>{}); }).kind ==
        cppless::error_kind::rejected);
}

TEST_CASE("when_all and when_any combine futures of several instances") {
  auto one = make_instance();
  auto two = make_instance();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 6; ++i) {
    futures.push_back(cppless::async(i % 2 == 0 ? one : two, [](int x) { return x; }, i));
  }
  CHECK(cppless::when_all(std::move(futures)).get() == std::vector<int>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("A waiting task that is cancelled is not started") {
  auto instance = make_instance();
  std::optional<cppless::future<int>> blocker;
  if (runs_by_itself()) {
    for (unsigned i = 0; i < worker_count(); ++i) {
      cppless::dispatch(instance, [] { sleep_in_task(300); });
    }
  }
  auto waiting = cppless::async(instance, [] { return endless(); });
  auto other = cppless::async(instance, [] { return 8; });
  CHECK(waiting.cancel());
  const caught error = error_of([&] { waiting.get(); });
  CHECK(error.kind == cppless::error_kind::cancelled);
  CHECK(error.id != 0);
  CHECK(other.get() == 8);
}

TEST_CASE("A waiting task is run however many behind it are cancelled") {
  if (is_remote()) return;  // it would keep each of many workers busy
  auto instance = make_instance();
  std::vector<cppless::future<void>> blockers;
  if (runs_by_itself()) {
    for (unsigned i = 0; i < worker_count(); ++i) {
      blockers.push_back(cppless::async(instance, [] { run_for_ever(); }));
    }
  }
  auto waiting = cppless::async(instance, [] { return 7; });
  for (int i = 0; i < 20'000; ++i) {
    auto cancelled = cppless::async(instance, [] { return 0; });
    REQUIRE(cancelled.cancel());
  }
  for (auto& each : blockers) each.cancel();
  REQUIRE(waiting.wait_for(60s));
  CHECK(waiting.get() == 7);
}

TEST_CASE("A running task that is cancelled is ended, and the others are unharmed") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  auto running = cppless::async(instance, [] { return endless(); });
  std::vector<cppless::future<int>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(cppless::async(instance, [](int x) { return x; }, i));
  }
  std::this_thread::sleep_for(100ms);
  CHECK(running.cancel());
  CHECK(error_of([&] { running.get(); }).kind == cppless::error_kind::cancelled);
  for (int i = 0; i < 20; ++i) CHECK(others[i].get() == i);
}

TEST_CASE("Cancelling a finished task does nothing and says so") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] { return 2; });
  future.wait();
  CHECK_FALSE(future.cancel());
  CHECK(future.get() == 2);
  int result = 0;
  const auto id = cppless::dispatch(instance, [] { return 1; }, result);
  instance.wait_one();
  CHECK_FALSE(instance.cancel(id));
  CHECK_FALSE(instance.cancel(id + 100));
}

TEST_CASE("A task dispatched with a result variable can be cancelled by its id") {
  auto instance = make_instance();
  int result = 5;
  const auto id = cppless::dispatch(instance, [] { return endless(); }, result);
  CHECK(instance.cancel(id));
  const caught error = error_of([&] { instance.wait_one(); });
  CHECK(error.kind == cppless::error_kind::cancelled);
  CHECK(error.id == id);
  CHECK(result == 5);
  CHECK(error_of([&] { instance.wait_one(); }).kind == cppless::error_kind::rejected);
}

TEST_CASE("Cancelling what then and when_all made cancels the tasks behind it") {
  auto instance = make_instance();
  auto next = cppless::async(instance, [] { return endless(); }).then([](int x) { return x; });
  CHECK(next.cancel());
  CHECK(error_of([&] { next.get(); }).kind == cppless::error_kind::cancelled);
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(cppless::async(instance, [] { return endless(); }));
  auto all = cppless::when_all(std::move(futures));
  CHECK(all.cancel());
  CHECK(error_of([&] { all.get(); }).kind == cppless::error_kind::cancelled);
}

TEST_CASE("The result of a dropped future is dropped, and other work goes on") {
  auto instance = make_instance();
  for (int i = 0; i < 100; ++i) (void)cppless::async(instance, [](int x) { return x; }, i);
  CHECK(cppless::async(instance, [] { return 1; }).get() == 1);
}

TEST_CASE("Futures may outlive their instance: finished ones keep their result") {
  std::optional<cppless::future<int>> finished, unfinished;
  std::optional<cppless::future<int>> continued;
  {
    auto instance = make_instance();
    finished = cppless::async(instance, [] { return 11; });
    finished->wait();
    unfinished = cppless::async(instance, [] { return endless(); });
    continued = cppless::async(instance, [] { return endless(); }).then([](int x) { return x; });
  }
  CHECK(finished->get() == 11);
  CHECK(unfinished->ready());
  CHECK_FALSE(unfinished->cancel());
  CHECK(unfinished->wait_for(0s));
  CHECK(error_of([&] { unfinished->get(); }).kind == cppless::error_kind::cancelled);
  CHECK(error_of([&] { continued->get(); }).kind == cppless::error_kind::cancelled);
}
