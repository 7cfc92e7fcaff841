// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace cppless;
using namespace std::chrono_literals;

TEST_CASE("A mutex lets one fiber or thread in at a time") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    fiber::runtime run(workers);
    fiber::mutex mutex;
    int count = 0;  // without the mutex, a data race
    const auto work = [&] {
      for (int i = 0; i < 500; ++i) {
        const std::lock_guard hold(mutex);
        const int before = count;
        if (i % 16 == 0) fiber::this_fiber::yield();
        count = before + 1;
      }
    };
    std::vector<fiber::future<void>> fibers;
    for (int i = 0; i < 8; ++i) fibers.push_back(fiber::async(work));
    std::thread one(work), other(work);
    for (auto& each : fibers) each.get();
    one.join();
    other.join();
    CHECK(count == 10 * 500);
  }
}

TEST_CASE("A fiber that waits for a mutex does not hold its worker") {
  fiber::runtime run(1);
  run.run([] {
    fiber::mutex mutex;
    std::unique_lock hold(mutex);
    bool begins = false, has_locked = false;
    auto waits = fiber::async([&] {
      begins = true;
      const std::lock_guard inside(mutex);
      has_locked = true;
    });
    while (!begins) fiber::this_fiber::yield();  // the one worker comes back
    CHECK_FALSE(has_locked);
    hold.unlock();
    waits.get();
    CHECK(has_locked);
  });
}

TEST_CASE("A mutex goes to who has waited longest") {
  fiber::runtime run(1);
  std::vector<int> order;
  run.run([&] {
    fiber::mutex mutex;
    std::unique_lock hold(mutex);
    std::vector<fiber::future<void>> fibers;
    for (int i = 0; i < 5; ++i) {
      bool begins = false;
      fibers.push_back(fiber::async([&, i] {
        begins = true;
        const std::lock_guard inside(mutex);
        order.push_back(i);
      }));
      while (!begins) fiber::this_fiber::yield();
    }
    hold.unlock();
    CHECK_FALSE(mutex.try_lock());  // handed over already
    for (auto& each : fibers) each.get();
  });
  CHECK(order == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("try_lock takes a free mutex and no other") {
  fiber::mutex mutex;
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("std::scoped_lock takes two mutexes in either order without a deadlock") {
  fiber::runtime run(2);
  fiber::mutex one, other;
  int count = 0;
  auto forth = fiber::async([&] {
    for (int i = 0; i < 1000; ++i) {
      const std::scoped_lock hold(one, other);
      ++count;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const std::scoped_lock hold(other, one);
    ++count;
  }
  forth.get();
  CHECK(count == 2000);
}

TEST_CASE("A timed mutex gives up at its deadline, and is still whole") {
  fiber::runtime run(2);
  fiber::timed_mutex mutex;
  const auto expect_timeout = [&] { return mutex.try_lock_for(1ms); };
  mutex.lock();
  CHECK_FALSE(fiber::async(expect_timeout).get());
  CHECK_FALSE(mutex.try_lock_for(0ms));
  CHECK_FALSE(mutex.try_lock_until(std::chrono::system_clock::now() + 1ms));
  auto patient = fiber::async([&] {
    const std::unique_lock hold(mutex, 1h);
    return hold.owns_lock();
  });
  CHECK_FALSE(mutex.try_lock_for(1ms));  // gives up in front of or behind somebody who does not
  mutex.unlock();
  CHECK(patient.get());
  CHECK(mutex.try_lock_for(1h));
  mutex.unlock();
  const std::lock_guard hold(mutex);
}

TEST_CASE("Whoever gets a mutex may destroy it at once") {
  fiber::runtime run(2);
  for (int i = 0; i < 2000; ++i) {
    auto mutex = std::make_unique<fiber::mutex>();
    mutex->lock();
    auto unlocks = fiber::async([&raw = *mutex] { raw.unlock(); });
    mutex->lock();
    mutex->unlock();
    mutex.reset();
    unlocks.get();
  }
}

TEST_CASE("Locks that time out while they are handed over are not lost") {
  fiber::runtime run(2);
  fiber::timed_mutex mutex;
  std::atomic<int> locked{0}, missed{0};
  std::vector<fiber::future<void>> fibers;
  for (int i = 0; i < 6; ++i) {
    fibers.push_back(fiber::async([&, i] {
      for (int turn = 0; turn < 200; ++turn) {
        if (mutex.try_lock_for(std::chrono::microseconds((i * 37 + turn * 13) % 200))) {
          ++locked;
          if (turn % 8 == 0) fiber::this_fiber::sleep_for(50us);
          mutex.unlock();
        } else {
          ++missed;
        }
      }
    }));
  }
  for (auto& each : fibers) each.get();
  CHECK(locked + missed == 6 * 200);
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("A recursive mutex is locked as often as its task likes, and by nobody else meanwhile") {
  fiber::runtime run(1);
  run.run([] {
    fiber::recursive_timed_mutex mutex;
    mutex.lock();
    CHECK(mutex.try_lock());
    CHECK(mutex.try_lock_for(1h));
    fiber::this_fiber::yield();
    mutex.lock();
    const auto another_locks = [&] {
      return fiber::async([&] { return mutex.try_lock() || mutex.try_lock_for(1ms); }).get();
    };
    for (int i = 0; i < 4; ++i) {
      CHECK_FALSE(another_locks());
      mutex.unlock();
    }
    CHECK(fiber::async([&] {
            const bool had = mutex.try_lock();
            mutex.unlock();
            return had;
          }).get());
  });
}

TEST_CASE("A recursive mutex lets one fiber or thread in at a time") {
  fiber::runtime run(2);
  fiber::recursive_mutex mutex;
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < 64; ++i) {
      const std::lock_guard hold(mutex);
      const int before = count;
      if (i % 16 == 0) fiber::this_fiber::yield();
      const std::lock_guard again(mutex);
      count = before + 1;
    }
  };
  std::vector<fiber::future<void>> fibers;
  for (int i = 0; i < 5; ++i) fibers.push_back(fiber::async(work));
  std::thread thread(work);
  for (auto& each : fibers) each.get();
  thread.join();
  CHECK(count == 6 * 64);
}
