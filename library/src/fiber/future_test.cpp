// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/async.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/errors.hpp>
#include <cppless/fiber/promise.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace std::chrono_literals;
namespace fiber = cppless::fiber;

namespace {

std::future_errc code_of(const std::future_error& error) {
  return static_cast<std::future_errc>(error.code().value());
}

/// The code of the std::future_error that `function` throws.
template <class F>
std::future_errc error_of(F&& function) {
  try {
    function();
  } catch (const std::future_error& error) {
    return code_of(error);
  }
  return {};
}

int square(int n) { return n * n; }

long fibonacci(long n) {
  if (n < 2) return n;
  fiber::future<long> first = fiber::async([n] { return fibonacci(n - 1); });
  fiber::future<long> second = fiber::async([n] { return fibonacci(n - 2); });
  return first.get() + second.get();
}

struct counts_copies {
  counts_copies() = default;
  counts_copies(const counts_copies& other) : copies(other.copies + 1), moves(other.moves) {}
  counts_copies(counts_copies&& other) noexcept : copies(other.copies), moves(other.moves + 1) {}
  int copies = 0, moves = 0;
};

}  // namespace

TEST_CASE("The slides' example: a square and a cube add up to 17") {
  fiber::future<int> square_future = fiber::async(square, 3);
  fiber::future<int> cube_future = fiber::async([](int n) { return n * n * n; }, 2);
  CHECK(square_future.get() + cube_future.get() == 17);
}

TEST_CASE("A future per call computes Fibonacci numbers, on any number of workers") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    fiber::runtime run(workers);
    CHECK(run.run([] { return fibonacci(20); }) == 6765);
    CHECK(fibonacci(15) == 610);
  }
}

TEST_CASE("Futures are got in any order, on any thread") {
  fiber::runtime run(2);
  const auto sums = [] {
    std::vector<fiber::future<int>> futures;
    for (int i = 0; i < 1000; ++i) futures.push_back(fiber::async(square, i));
    int sum = 0;
    for (int i = 0; i < 1000; i += 2) sum += futures[static_cast<std::size_t>(i)].get();
    for (int i = 999; i > 0; i -= 2) sum += futures[static_cast<std::size_t>(i)].get();
    return sum;
  };
  CHECK(run.run(sums) == 332'833'500);
  CHECK(sums() == 332'833'500);
}

TEST_CASE("A task's exception comes out of get, whoever called the task") {
  fiber::runtime run(2);
  const auto throws = [] {
    fiber::future<int> fails = fiber::async([]() -> int { throw std::out_of_range("too far"); });
    CHECK_THROWS_WITH_AS(fails.get(), "too far", std::out_of_range);
    CHECK(!fails.valid());
    fiber::future<void> fails_elsewhere = fiber::async([] { throw std::out_of_range("far"); });
    while (fails_elsewhere.wait_for(1ms) != std::future_status::ready) {
    }
    CHECK_THROWS_WITH_AS(fails_elsewhere.get(), "far", std::out_of_range);
  };
  run.run(throws);
  throws();
}

TEST_CASE("Results are moved, references stay references, and nothing stays nothing") {
  CHECK(*fiber::async([] { return std::make_unique<int>(7); }).get() == 7);
  int value = 1;
  int& same = fiber::async([&value]() -> int& { return value; }).get();
  CHECK(&same == &value);
  fiber::async([&value] { value = 2; }).get();
  CHECK(value == 2);
  CHECK(fiber::async([] { return counts_copies(); }).get().copies == 0);
}

TEST_CASE("Arguments are kept decayed, and moved into the function") {
  auto taken = std::make_unique<int>(5);
  CHECK(fiber::async([](std::unique_ptr<int> by_value) { return *by_value; }, std::move(taken))
            .get() == 5);
  int changed = 0;
  fiber::async([](int& by_reference) { by_reference = 3; }, std::ref(changed)).get();
  CHECK(changed == 3);
  const counts_copies given;
  CHECK(fiber::async([](const counts_copies& kept) { return kept.copies; }, given).get() == 1);
  struct has_member {
    int twice() const { return 2 * number; }
    int number;
  };
  CHECK(fiber::async(&has_member::twice, has_member{4}).get() == 8);
}

TEST_CASE("A deferred task runs when somebody waits, on the caller's thread, or never") {
  const auto by = [] { return std::this_thread::get_id(); };
  fiber::future<std::thread::id> deferred = fiber::async(std::launch::deferred, by);
  CHECK(deferred.wait_for(0s) == std::future_status::deferred);
  CHECK(deferred.wait_until(std::chrono::system_clock::now()) == std::future_status::deferred);
  CHECK(deferred.get() == std::this_thread::get_id());
  bool ran = false;
  static_cast<void>(fiber::async(fiber::launch::deferred, [&ran] { ran = true; }));
  CHECK(!ran);
  fiber::future<void> waited = fiber::async(fiber::launch::deferred, [&ran] { ran = true; });
  waited.wait();
  CHECK(ran);
  waited.get();
}

TEST_CASE("All policies but none are accepted") {
  CHECK(fiber::async(std::launch::async, square, 2).get() == 4);
  CHECK(fiber::async(std::launch::async | std::launch::deferred, square, 2).get() == 4);
  CHECK_THROWS_AS(static_cast<void>(fiber::async(std::launch{}, square, 2)), std::system_error);
}

TEST_CASE("The destructor of an async future waits for its task") {
  fiber::runtime run(2);
  std::atomic<bool> ended{false};
  {
    const auto dropped = fiber::async([&ended] {
      fiber::this_fiber::sleep_for(5ms);
      ended = true;
    });
  }
  CHECK(ended);
  ended = false;
  fiber::future<void> replaced = fiber::async([&ended] { ended = true; });
  replaced = {};
  CHECK(ended);
}

TEST_CASE("Waiting with a limit ends at the limit, or when the result is there") {
  fiber::runtime run(2);
  const auto waits = [] {
    fiber::promise<int> promise;
    fiber::future<int> future = promise.get_future();
    CHECK(future.wait_for(0s) == std::future_status::timeout);
    CHECK(future.wait_for(2ms) == std::future_status::timeout);
    CHECK(future.wait_until(std::chrono::system_clock::now() + 2ms) == std::future_status::timeout);
    const auto later = fiber::async([&promise] {
      fiber::this_fiber::sleep_for(2ms);
      promise.set_value(9);
    });
    CHECK(future.wait_for(std::chrono::hours::max()) == std::future_status::ready);
    CHECK(future.is_ready());
    CHECK(future.get() == 9);
  };
  run.run(waits);
  waits();
}

TEST_CASE("A stop token ends a wait and keeps tasks from being begun") {
  fiber::runtime run(1);
  run.run([] {
    std::stop_source source;
    fiber::promise<void> never;
    fiber::future<void> future = never.get_future();
    const auto stopper = fiber::async([&source] { source.request_stop(); });
    CHECK(future.wait_for(1h, source.get_token()) == std::future_status::timeout);
    fiber::future<int> not_begun = fiber::async(source.get_token(), square, 3);
    CHECK_THROWS_AS(not_begun.get(), cppless::cancelled);
    CHECK(!fiber::this_fiber::sleep_for(1h, source.get_token()));
    CHECK(fiber::async(std::stop_token(), square, 3).get() == 9);
  });
}

TEST_CASE("Shared futures give the same result to all who ask") {
  fiber::runtime run(2);
  run.run([] {
    fiber::shared_future<std::string> shared =
        fiber::async([] { return std::string("one for all"); });
    std::vector<fiber::future<const std::string*>> askers;
    for (int i = 0; i < 100; ++i) {
      askers.push_back(fiber::async([shared] { return &shared.get(); }));
    }
    for (auto& each : askers) CHECK(each.get() == &shared.get());
    fiber::shared_future<int> fails =
        fiber::async([]() -> int { throw std::runtime_error("always"); }).share();
    CHECK_THROWS_WITH(fails.get(), "always");
    CHECK_THROWS_WITH(fails.get(), "always");
    const fiber::shared_future<int> copy = fails;
    fails = {};
    CHECK(copy.valid());
    CHECK(!fails.valid());
  });
}

TEST_CASE("A promise is kept once, and its future had once") {
  fiber::promise<int> promise;
  fiber::future<int> future = promise.get_future();
  CHECK(error_of([&] { static_cast<void>(promise.get_future()); }) ==
        std::future_errc::future_already_retrieved);
  promise.set_value(1);
  CHECK(error_of([&] { promise.set_value(2); }) == std::future_errc::promise_already_satisfied);
  CHECK(error_of([&] { promise.set_exception(nullptr); }) ==
        std::future_errc::promise_already_satisfied);
  CHECK(future.get() == 1);
  CHECK(error_of([&] { future.get(); }) == std::future_errc::no_state);
  CHECK(error_of([&] { future.wait(); }) == std::future_errc::no_state);
  fiber::promise<int> moved = std::move(promise);
  CHECK(error_of([&] { promise.set_value(2); }) == std::future_errc::no_state);
}

TEST_CASE("A promise that is dropped breaks, and one may carry an exception or a reference") {
  fiber::future<void> broken;
  {
    fiber::promise<void> dropped;
    broken = dropped.get_future();
  }
  CHECK(error_of([&] { broken.get(); }) == std::future_errc::broken_promise);
  fiber::promise<int&> refers;
  int value = 4;
  refers.set_value(value);
  CHECK(&refers.get_future().get() == &value);
  fiber::promise<std::string> fails;
  fails.set_exception(std::make_exception_ptr(std::logic_error("no")));
  CHECK_THROWS_WITH(fails.get_future().get(), "no");
}

TEST_CASE("A value whose copy throws leaves the promise open") {
  struct bad_copy {
    bad_copy() = default;
    bad_copy(const bad_copy&) { throw std::runtime_error("copied"); }
    bad_copy(bad_copy&&) = default;
  };
  fiber::promise<bad_copy> promise;
  const bad_copy value;
  CHECK_THROWS_WITH(promise.set_value(value), "copied");
  promise.set_value(bad_copy());
  static_cast<void>(promise.get_future().get());
}

TEST_CASE("A task may wait for a promise that its maker keeps after another get") {
  // Were the waiting task called within the other's get, neither would ever end.
  fiber::runtime run(1);
  CHECK(run.run([] {
    fiber::promise<int> promise;
    fiber::future<int> other = fiber::async(square, 2);
    fiber::future<int> waits = fiber::async([later = promise.get_future()]() mutable {
      return later.get();
    });
    const int first = other.get();
    promise.set_value(first + 1);
    return waits.get();
  }) == 5);
}

TEST_CASE("Recursion deeper than any stack goes on with fresh stacks") {
  fiber::runtime run({.workers = 2, .stack_size = 16384});
  struct deep {
    static int sum(int n) { return n == 0 ? 0 : 1 + fiber::async(&deep::sum, n - 1).get(); }
  };
  CHECK(run.run([] { return deep::sum(10'000); }) == 10'000);
}

TEST_CASE("A second runtime at a time is refused, and one after the other is not") {
  {
    const fiber::runtime first(1);
    CHECK(fiber::runtime::workers() == 1);
    CHECK_THROWS_AS(fiber::runtime(1), cppless::rejected);
  }
  const fiber::runtime second(2);
  CHECK(fiber::runtime::workers() == 2);
  CHECK_THROWS_AS(fiber::runtime({.stack_size = 100}), cppless::rejected);
}

TEST_CASE("A runtime ends when all that was made has ended, parked fibers included") {
  std::atomic<int> ended{0};
  {
    fiber::runtime run(2);
    for (int i = 0; i < 100; ++i) {
      fiber::detach([&ended] {
        fiber::this_fiber::sleep_for(1ms);
        fiber::detach([&ended] { ++ended; });
      });
    }
  }
  CHECK(ended == 100);
}

TEST_CASE("A thread's tasks are run after it has ended") {
  fiber::runtime run(1);
  fiber::future<int> left;
  std::thread([&left] { left = fiber::async(square, 6); }).join();
  CHECK(left.get() == 36);
}
