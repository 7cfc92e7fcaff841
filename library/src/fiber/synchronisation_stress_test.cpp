// SPDX-License-Identifier: Apache-2.0
//
// Everything that waits, in random order, by fibers and plain threads, with time limits that often
// pass just when what was waited for comes. What is conserved is counted at the end.
#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber.hpp>

using namespace cppless;

namespace {

struct shared_things {
  fiber::timed_mutex mutex;
  fiber::condition_variable changed;
  long tokens = 0;  // under `mutex`
  fiber::counting_semaphore<> free{2};
  fiber::channel<int> small{1}, large{5};
  std::atomic<long> sent{0}, received{0}, given{0}, taken{0};
};

void one_action(shared_things& all, std::mt19937& random) {
  const auto moment = std::chrono::microseconds(random() % 100);
  int value = 1;
  switch (random() % 8) {
    case 0: {
      const std::lock_guard hold(all.mutex);
      ++all.tokens;
      ++all.given;
      all.changed.notify_one();
      break;
    }
    case 1: {
      std::unique_lock hold(all.mutex);
      if (all.changed.wait_for(hold, moment, [&] { return all.tokens > 0; })) {
        --all.tokens;
        ++all.taken;
      }
      break;
    }
    case 2:
      if (all.free.try_acquire_for(moment)) {
        fiber::this_fiber::yield();
        all.free.release();
      }
      break;
    case 3:
      if (all.mutex.try_lock_for(moment)) {
        fiber::this_fiber::yield();
        all.mutex.unlock();
      }
      break;
    case 4: all.sent += all.small.send_for(value, moment); break;
    case 5: all.received += all.small.receive_for(moment).has_value(); break;
    case 6:
      fiber::select_for(
          moment, fiber::on_send(all.large, value, [&](bool sent) { all.sent += sent; }),
          fiber::on_receive(all.small, [&](auto next) { all.received += next.has_value(); }));
      break;
    default:
      fiber::select_for(
          moment,
          fiber::on_receive(all.large, [&](auto next) { all.received += next.has_value(); }),
          fiber::on_send(all.small, value, [&](bool sent) { all.sent += sent; }));
  }
}

void all_actions(shared_things& all, unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) one_action(all, random);
}

void check_what_is_conserved(shared_things& all) {
  all.small.close();
  all.large.close();
  while (all.small.receive()) ++all.received;
  while (all.large.receive()) ++all.received;
  CHECK(all.sent == all.received);
  CHECK(all.given == all.taken + all.tokens);
  CHECK(all.free.try_acquire());
  CHECK(all.free.try_acquire());
  CHECK_FALSE(all.free.try_acquire());
  CHECK(all.mutex.try_lock());
  all.mutex.unlock();
}

}  // namespace

TEST_CASE("Nothing is lost between fibers and threads that wait and give up at random") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    fiber::runtime run(2);
    shared_things all;
    std::vector<fiber::future<void>> fibers;
    for (unsigned i = 0; i < 8; ++i) {
      fibers.push_back(fiber::async(all_actions, std::ref(all), seed * 100 + i));
    }
    std::thread one(all_actions, std::ref(all), seed * 100 + 50);
    std::thread other(all_actions, std::ref(all), seed * 100 + 51);
    for (auto& each : fibers) each.get();
    one.join();
    other.join();
    check_what_is_conserved(all);
  }
}

TEST_CASE("The same with every order of events that fifty seeds give") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    fiber::runtime run({.workers = 1, .seed = seed});
    run.run([&] {
      shared_things all;
      std::vector<fiber::future<void>> fibers;
      for (unsigned i = 0; i < 5; ++i) {
        fibers.push_back(fiber::async(all_actions, std::ref(all), i));
      }
      for (auto& each : fibers) each.get();
      check_what_is_conserved(all);
    });
  }
}
