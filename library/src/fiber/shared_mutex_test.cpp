// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/shared_mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/latch.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace cppless;
using namespace std::chrono_literals;

TEST_CASE("Many share a mutex while nobody has it alone, on fibers and plain threads") {
  fiber::runtime run(2);
  fiber::shared_mutex mutex;
  int one = 0, other = 0;  // without the mutex, a data race
  std::atomic<int> unequal{0};
  const auto work = [&](int which) {
    for (int i = 0; i < 64; ++i) {
      if ((i + which) % 8 == 0) {
        const std::lock_guard hold(mutex);
        ++one;
        if (i % 16 == 0) fiber::this_fiber::yield();
        ++other;
      } else {
        const std::shared_lock hold(mutex);
        if (i % 16 == 0) fiber::this_fiber::yield();
        if (one != other) ++unequal;
      }
    }
  };
  std::vector<fiber::future<void>> fibers;
  for (int i = 0; i < 8; ++i) fibers.push_back(fiber::async(work, i));
  std::thread thread(work, 8);
  for (auto& each : fibers) each.get();
  thread.join();
  CHECK(unequal == 0);
  CHECK(one == other);
  CHECK(mutex.try_lock());
}

TEST_CASE("Those that share a mutex are in at the same time") {
  fiber::runtime run(1);
  fiber::shared_mutex mutex;
  fiber::latch inside(3);
  std::vector<fiber::future<void>> fibers;
  for (int i = 0; i < 3; ++i) {
    fibers.push_back(fiber::async([&] {
      const std::shared_lock hold(mutex);
      inside.arrive_and_wait();  // for ever, if they came one by one
    }));
  }
  for (auto& each : fibers) each.get();
}

TEST_CASE("Who shares a mutex late waits behind who wants it alone") {
  fiber::runtime run({.workers = 1, .seed = 7});
  run.run([] {
    fiber::shared_mutex mutex;
    std::vector<int> order;
    mutex.lock_shared();
    auto alone = fiber::async([&] {
      const std::lock_guard hold(mutex);
      order.push_back(1);
    });
    fiber::this_fiber::sleep_for(1s);  // virtual: until all else waits
    CHECK_FALSE(mutex.try_lock_shared());
    auto late = fiber::async([&] {
      const std::shared_lock hold(mutex);
      order.push_back(2);
    });
    fiber::this_fiber::sleep_for(1s);
    CHECK(order.empty());
    mutex.unlock_shared();
    alone.get();
    late.get();
    CHECK(order == std::vector{1, 2});
  });
}

TEST_CASE("try_lock takes what is free, and leaves everything as it was") {
  fiber::shared_mutex mutex;
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock_shared());
  mutex.unlock();
  CHECK(mutex.try_lock_shared());
  CHECK_FALSE(mutex.try_lock());
  CHECK(mutex.try_lock_shared());
  mutex.unlock_shared();
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock_shared();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("A shared timed mutex gives up at its deadline, and those behind go on") {
  fiber::runtime run({.workers = 1, .seed = 3});
  run.run([] {
    fiber::shared_timed_mutex mutex;
    mutex.lock_shared();
    auto alone = fiber::async([&] { return mutex.try_lock_for(1h); });
    auto behind = fiber::async([&] {
      fiber::this_fiber::sleep_for(1s);
      return mutex.try_lock_shared_for(2h);
    });
    CHECK_FALSE(alone.get());
    CHECK(behind.get());
    CHECK_FALSE(mutex.try_lock_until(std::chrono::system_clock::now()));
    mutex.unlock_shared();
    mutex.unlock_shared();
    CHECK(mutex.try_lock_for(1h));
    CHECK_FALSE(mutex.try_lock_shared_until(std::chrono::system_clock::now()));
  });
}
