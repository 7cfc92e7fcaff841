// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/semaphore.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace cppless;
using namespace std::chrono_literals;

TEST_CASE("No more than its number are inside of a semaphore") {
  fiber::runtime run(2);
  fiber::counting_semaphore<3> free(3);
  std::atomic<int> inside{0}, most{0}, done{0};
  const auto work = [&] {
    for (int i = 0; i < 100; ++i) {
      free.acquire();
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      fiber::this_fiber::yield();
      --inside;
      free.release();
      ++done;
    }
  };
  std::vector<fiber::future<void>> fibers;
  for (int i = 0; i < 10; ++i) fibers.push_back(fiber::async(work));
  std::thread thread(work);
  for (auto& each : fibers) each.get();
  thread.join();
  CHECK(done == 1100);
  CHECK(most <= 3);
  for (int i = 0; i < 3; ++i) CHECK(free.try_acquire());
  CHECK_FALSE(free.try_acquire());
}

TEST_CASE("One release wakes as many as it releases, and keeps the rest") {
  fiber::runtime run(1);
  run.run([] {
    fiber::counting_semaphore semaphore(0);
    std::vector<fiber::future<void>> fibers;
    int begun = 0;
    for (int i = 0; i < 3; ++i) {
      fibers.push_back(fiber::async([&] {
        ++begun;
        semaphore.acquire();
      }));
    }
    while (begun < 3) fiber::this_fiber::yield();  // one worker: now they wait
    semaphore.release(5);
    for (auto& each : fibers) each.get();
    CHECK(semaphore.try_acquire());
    CHECK(semaphore.try_acquire());
    CHECK_FALSE(semaphore.try_acquire());
    semaphore.release(0);
    CHECK_FALSE(semaphore.try_acquire());
  });
}

TEST_CASE("Acquiring with a time limit gives up, on fibers and plain threads") {
  fiber::runtime run(2);
  fiber::binary_semaphore semaphore(0);
  const auto tries = [&] {
    return semaphore.try_acquire_for(1ms) ||
           semaphore.try_acquire_until(std::chrono::steady_clock::now() + 1ms);
  };
  CHECK_FALSE(tries());
  CHECK_FALSE(fiber::async(tries).get());
  auto patient = fiber::async([&] { return semaphore.try_acquire_for(1h); });
  semaphore.release();
  CHECK(patient.get());
  CHECK_FALSE(semaphore.try_acquire());
}

TEST_CASE("A semaphore may be destroyed by who was waiting for its release") {
  fiber::runtime run(2);
  for (int i = 0; i < 2000; ++i) {
    auto done = std::make_unique<fiber::binary_semaphore>(0);
    auto releases = fiber::async([&raw = *done] { raw.release(); });
    done->acquire();
    done.reset();
    releases.get();
  }
}
