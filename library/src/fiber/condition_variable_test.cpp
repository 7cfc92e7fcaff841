// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/condition_variable.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <queue>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace cppless;
using namespace std::chrono_literals;

TEST_CASE("Fibers and threads wait for what others of both kinds produce") {
  for (const unsigned workers : {1U, 2U}) {
    fiber::runtime run(workers);
    fiber::mutex mutex;
    fiber::condition_variable changed;
    std::queue<int> queue;
    long sum = 0;
    const auto consume = [&] {
      for (int i = 0; i < 200; ++i) {
        std::unique_lock hold(mutex);
        changed.wait(hold, [&] { return !queue.empty(); });
        sum += queue.front();
        queue.pop();
      }
    };
    const auto produce = [&] {
      for (int i = 1; i <= 200; ++i) {
        const std::lock_guard hold(mutex);
        queue.push(i);
        changed.notify_one();
      }
    };
    std::vector<fiber::future<void>> fibers;
    for (int i = 0; i < 3; ++i) {
      fibers.push_back(fiber::async(consume));
      fibers.push_back(fiber::async(produce));
    }
    std::thread consumer(consume), producer(produce);
    for (auto& each : fibers) each.get();
    consumer.join();
    producer.join();
    CHECK(sum == 4 * 200 * 201 / 2);
    CHECK(queue.empty());
  }
}

TEST_CASE("notify_one wakes one who waits, notify_all all of them") {
  fiber::runtime run(1);
  run.run([] {
    fiber::mutex mutex;
    fiber::condition_variable changed;
    int begun = 0, woken = 0;
    std::vector<fiber::future<void>> fibers;
    for (int i = 0; i < 5; ++i) {
      fibers.push_back(fiber::async([&] {
        std::unique_lock hold(mutex);
        ++begun;
        changed.wait(hold);
        ++woken;
      }));
    }
    while (begun < 5) fiber::this_fiber::yield();  // one worker: now they wait
    changed.notify_one();
    for (int turn = 0; turn < 100 || woken == 0; ++turn) fiber::this_fiber::yield();
    CHECK(woken == 1);
    changed.notify_all();
    for (auto& each : fibers) each.get();
    CHECK(woken == 5);
  });
}

TEST_CASE("Waiting ends at its deadline, and says whether it was notified") {
  fiber::runtime run(2);
  fiber::mutex mutex;
  fiber::condition_variable changed;
  const auto wait = [&] {
    std::unique_lock hold(mutex);
    CHECK(changed.wait_for(hold, 1ms) == std::cv_status::timeout);
    CHECK(changed.wait_until(hold, std::chrono::system_clock::now() + 1ms) ==
          std::cv_status::timeout);
    CHECK_FALSE(changed.wait_for(hold, 1ms, [] { return false; }));
    CHECK(changed.wait_until(hold, std::chrono::steady_clock::now(), [] { return true; }));
    return hold.owns_lock();
  };
  CHECK(wait());
  CHECK(fiber::async(wait).get());

  bool is_set = false;
  auto patient = fiber::async([&] {
    std::unique_lock hold(mutex);
    return changed.wait_for(hold, 1h, [&] { return is_set; });
  });
  {
    const std::lock_guard hold(mutex);
    is_set = true;
  }
  changed.notify_all();
  CHECK(patient.get());
}

TEST_CASE("A stop ends the wait with what the predicate says") {
  fiber::runtime run(2);
  fiber::mutex mutex;
  fiber::condition_variable_any changed;
  std::stop_source source;
  const auto wait = [&](bool answer, auto... limit) {
    std::unique_lock hold(mutex);
    int asked = 0;
    const bool result = [&] {
      if constexpr (sizeof...(limit) == 0) {
        return changed.wait(hold, source.get_token(), [&] { return ++asked > 1 && answer; });
      } else {
        return changed.wait_for(hold, source.get_token(), limit...,
                                [&] { return ++asked > 1 && answer; });
      }
    }();
    CHECK(hold.owns_lock());
    return result;
  };
  auto no = fiber::async([&] { return wait(false); });
  auto yes = fiber::async([&] { return wait(true, 1h); });
  std::jthread thread([&] { CHECK_FALSE(wait(false, 1h)); });
  source.request_stop();
  CHECK_FALSE(no.get());
  CHECK(yes.get());
  std::unique_lock hold(mutex);
  CHECK(changed.wait_until(hold, source.get_token(), std::chrono::steady_clock::now() + 1h,
                           [] { return true; }));
  hold.unlock();
}

TEST_CASE("A condition variable may be destroyed once all were notified") {
  fiber::runtime run(2);
  for (int i = 0; i < 500; ++i) {
    fiber::mutex mutex;
    auto changed = std::make_unique<fiber::condition_variable>();
    bool waits = false, is_set = false;
    auto waiter = fiber::async([&] {
      std::unique_lock hold(mutex);
      waits = true;
      changed->wait(hold);
      return is_set;
    });
    for (bool seen = false; !seen; fiber::this_fiber::yield()) {
      const std::lock_guard hold(mutex);
      seen = is_set = waits;
    }
    changed->notify_all();
    changed.reset();
    CHECK(waiter.get());
  }
}
