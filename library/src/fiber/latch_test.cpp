// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/latch.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>

using namespace cppless;

TEST_CASE("A latch opens when it has been counted down, for all who wait") {
  for (const unsigned workers : {1U, 2U}) {
    fiber::runtime run(workers);
    fiber::latch start(1), done(11);
    std::atomic<int> started{0};
    const auto work = [&] {
      start.wait();
      ++started;
      done.count_down();
    };
    std::vector<fiber::future<void>> fibers;
    for (int i = 0; i < 10; ++i) fibers.push_back(fiber::async(work));
    std::thread thread(work);
    CHECK_FALSE(start.try_wait());
    CHECK(started == 0);
    start.count_down();
    done.wait();
    CHECK(started == 11);
    CHECK(done.try_wait());
    done.wait();  // again, at once
    thread.join();
    for (auto& each : fibers) each.get();
  }
}

TEST_CASE("A latch is counted down by several at once, and by those who wait") {
  fiber::runtime run(2);
  fiber::latch both(5);
  both.count_down(3);
  auto other = fiber::async([&] { both.arrive_and_wait(); });
  both.arrive_and_wait();
  other.get();
  CHECK(both.try_wait());
  CHECK(fiber::latch(0).try_wait());
}

TEST_CASE("A latch may be destroyed by who waited for it") {
  fiber::runtime run(2);
  for (int i = 0; i < 2000; ++i) {
    auto done = std::make_unique<fiber::latch>(1);
    auto counts = fiber::async([&raw = *done] { raw.count_down(); });
    done->wait();
    done.reset();
    counts.get();
  }
}
