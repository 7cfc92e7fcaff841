// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/task_group.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber/blocking.hpp>
#include <cppless/fiber/continuations.hpp>
#include <cppless/fiber/packaged_task.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace std::chrono_literals;
namespace fiber = cppless::fiber;

namespace {

long fork_join_fibonacci(long n) {
  if (n < 2) return n;
  long first = 0, second = 0;
  fiber::fork_join([&] { first = fork_join_fibonacci(n - 1); },
                   [&] { second = fork_join_fibonacci(n - 2); });
  return first + second;
}

long group_fibonacci(long n) {
  if (n < 2) return n;
  long first = 0;
  fiber::task_group group;
  group.run([&] { first = group_fibonacci(n - 1); });
  const long second = group_fibonacci(n - 2);
  group.wait();
  return first + second;
}

}  // namespace

TEST_CASE("Fork and join, and groups, compute Fibonacci numbers") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    fiber::runtime run(workers);
    CHECK(run.run([] { return fork_join_fibonacci(18); }) == 2584);
    CHECK(run.run([] { return group_fibonacci(18); }) == 2584);
    CHECK(group_fibonacci(12) == 144);
  }
}

TEST_CASE("Fork and join runs everything although one throws") {
  std::atomic<int> ran{0};
  CHECK_THROWS_WITH(fiber::fork_join([&] { ++ran; }, [&] { ++ran, throw std::runtime_error("b"); },
                                     [&] { ++ran; }),
                    "b");
  CHECK(ran == 3);
  CHECK_THROWS_WITH(fiber::fork_join([] { throw std::runtime_error("a"); }, [&] { ++ran; }), "a");
  CHECK(ran == 4);
}

TEST_CASE("A group waits for tasks that its tasks add, and throws what came first") {
  fiber::runtime run(2);
  const auto works = [] {
    std::atomic<int> ran{0};
    fiber::task_group group;
    for (int i = 0; i < 100; ++i) {
      group.run([&] {
        ++ran;
        group.run([&] { ++ran; });
      });
    }
    group.wait();
    CHECK(ran == 200);
    group.run([] { throw std::runtime_error("of the group"); });
    CHECK_THROWS_WITH(group.wait(), "of the group");
    group.wait();
  };
  run.run(works);
  works();
}

TEST_CASE("A stopped group begins no more tasks, and its token tells those that run") {
  fiber::runtime run(1);
  run.run([] {
    fiber::task_group group;
    bool was_stopped = false;
    int ran = 0;
    group.run([&] { was_stopped = !fiber::this_fiber::sleep_for(1h, group.get_token()); });
    fiber::this_fiber::yield();
    group.run([&] { ++ran; });
    group.request_stop();
    CHECK(group.get_token().stop_requested());
    group.wait();
    CHECK(was_stopped);
    CHECK(ran == 0);
  });
}

TEST_CASE("What follows a result runs with it; errors pass by") {
  fiber::runtime run(2);
  const auto follows = [] {
    CHECK(fiber::async([] { return 4; }).then([](int n) { return n + 1; }).get() == 5);
    CHECK(fiber::async([] {}).then([] { return 1; }).then([](int n) { return std::to_string(n); })
              .get() == "1");
    bool ran = false;
    auto fails = fiber::async([]() -> int { throw std::runtime_error("first"); })
                     .then([&ran](int) { ran = true; });
    CHECK_THROWS_WITH(fails.get(), "first");
    CHECK(!ran);
    CHECK(fiber::async(fiber::launch::deferred, [] { return 2; }).then([](int n) { return n; })
              .get() == 2);
    fiber::promise<int> promise;
    auto later = promise.get_future().then([](int n) { return 2 * n; });
    CHECK(!later.is_ready());
    promise.set_value(21);
    CHECK(later.get() == 42);
  };
  run.run(follows);
  follows();
}

TEST_CASE("when_all gives all results in order, or the first error") {
  fiber::runtime run(2);
  std::vector<fiber::future<int>> futures;
  for (int i = 0; i < 50; ++i) futures.push_back(fiber::async([i] { return i; }));
  std::vector<int> expected(50);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(fiber::when_all(std::move(futures)).get() == expected);
  CHECK(fiber::when_all(std::vector<fiber::future<int>>{}).get().empty());
  std::vector<fiber::future<void>> some;
  some.push_back(fiber::async([] {}));
  some.push_back(fiber::async([] { throw std::runtime_error("second"); }));
  CHECK_THROWS_WITH(fiber::when_all(std::move(some)).get(), "second");
}

TEST_CASE("when_any gives the first result, and the others go on") {
  fiber::runtime run(2);
  fiber::promise<int> slow;
  std::vector<fiber::future<int>> futures;
  futures.push_back(slow.get_future());
  futures.push_back(fiber::async([] { return 7; }));
  const auto first = fiber::when_any(std::move(futures)).get();
  CHECK(first.index == 1);
  CHECK(first.value == 7);
  slow.set_value(1);
  std::vector<fiber::future<int>> none;
  CHECK_THROWS_AS(static_cast<void>(fiber::when_any(std::move(none))), cppless::rejected);
}

TEST_CASE("A packaged task keeps what it returns or throws, once, until it is reset") {
  fiber::packaged_task<int(int)> task(
      [](int n) { return n < 0 ? throw std::runtime_error("<0") : n; });
  fiber::future<int> first = task.get_future();
  task(3);
  CHECK(first.get() == 3);
  CHECK_THROWS_AS(task(4), std::future_error);
  task.reset();
  fiber::future<int> second = task.get_future();
  task(-1);
  CHECK_THROWS_WITH(second.get(), "<0");
  fiber::packaged_task deduced([](const std::string& s) { return s.size(); });
  fiber::future<std::size_t> size = deduced.get_future();
  fiber::packaged_task<std::size_t(const std::string&)> moved = std::move(deduced);
  CHECK(!deduced.valid());
  fiber::async(std::move(moved), "four").get();
  CHECK(size.get() == 4);
}

TEST_CASE("A blocking call lets the worker go on with other fibers") {
  fiber::runtime run(1);
  CHECK(run.run([] {
    std::atomic<bool> ran{false};
    const auto other = fiber::async([&ran] { ran = true; });
    // Blocks its thread until another task has run on the only worker.
    const int result = fiber::blocking([&ran] {
      while (!ran) std::this_thread::yield();
      return 5;
    });
    CHECK_THROWS_WITH(fiber::blocking([]() -> int { throw std::runtime_error("blocked"); }),
                      "blocked");
    return result;
  }) == 5);
  CHECK(fiber::blocking([] { return 6; }) == 6);
}
