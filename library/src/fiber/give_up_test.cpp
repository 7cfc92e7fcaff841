// SPDX-License-Identifier: Apache-2.0
//
// What comes in the moment at which a wait for it is given up: it is had, or it is still there.
// Deterministic runs go through every order of the two: all that happens here at one hour of
// virtual time, and what lies between a wait's end and its leaving the queue, is in an order that
// the seed chooses.
#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>

#include <cppless/fiber.hpp>

using namespace cppless;
using namespace std::chrono_literals;

namespace {

/// A wait by `waits`, given a stop token, which returns whether it had what `gives` gives at the
/// moment of its deadline and of the stop. `check(had)` says whether the rest is as it should be.
/// Both outcomes must come about.
void for_all_orders(const std::function<bool(const std::stop_token&)>& waits,
                    const std::function<void()>& gives, const std::function<bool(bool)>& check) {
  std::set<bool> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    fiber::runtime run({.workers = 1, .seed = seed});
    run.run([&] {
      std::stop_source source;
      auto waiting = fiber::async([&] { return waits(source.get_token()); });
      auto stopping = fiber::async([&] {
        fiber::this_fiber::sleep_for(1h);
        source.request_stop();
      });
      fiber::this_fiber::sleep_for(1h);
      gives();
      const bool had = waiting.get();
      stopping.get();
      seen.insert(had);
      CHECK(check(had));
    });
  }
  CHECK(seen == std::set{false, true});
}

}  // namespace

TEST_CASE("A permit that is given at a waiter's deadline is taken or left, never lost") {
  fiber::binary_semaphore semaphore(0);
  for_all_orders([&](const std::stop_token&) { return semaphore.try_acquire_for(1h); },
                 [&] { semaphore.release(); },
                 [&](bool had) { return semaphore.try_acquire() != had; });
}

TEST_CASE("A mutex that is unlocked at a waiter's deadline is locked by it or free") {
  fiber::timed_mutex mutex;
  mutex.lock();
  for_all_orders([&](const std::stop_token&) { return mutex.try_lock_for(1h); },
                 [&] { mutex.unlock(); }, [&](bool had) { return had || mutex.try_lock(); });
}

// Of these two wait, and only one of them gives up: so what is lost to it is missed by the other.

TEST_CASE("A notification at a waiter's deadline is its own or goes to the next") {
  fiber::mutex mutex;
  fiber::condition_variable changed;
  const auto is_notified = [&](std::chrono::hours limit) {
    std::unique_lock hold(mutex);
    return changed.wait_for(hold, limit) == std::cv_status::no_timeout;
  };
  fiber::future<bool> patient;
  for_all_orders(
      [&](const std::stop_token&) {
        patient = fiber::async(is_notified, 5h);
        return is_notified(1h);
      },
      [&] { changed.notify_one(); }, [&](bool had) { return patient.get() != had; });
}

TEST_CASE("A value sent at a receiver's deadline, or stop, is its own or the next one's") {
  fiber::channel<int> channel(1);
  fiber::future<bool> patient;
  for_all_orders(
      [&](const std::stop_token& stop) {
        patient = fiber::async([&] { return channel.receive_for(5h).has_value(); });
        return channel.receive_for(1h, stop).has_value();
      },
      [&] { channel.send(1); }, [&](bool had) { return patient.get() != had; });
}

TEST_CASE("Room in a channel at a sender's deadline, or stop, is its own or the next one's") {
  fiber::channel<int> channel(1);
  int one = 1, other = 2;
  fiber::future<bool> patient;
  for_all_orders(
      [&](const std::stop_token& stop) {
        channel.send(0);
        patient = fiber::async([&] { return channel.send_for(other, 5h); });
        return channel.send_for(one, 1h, stop);
      },
      [&] { CHECK(channel.receive() == 0); },
      [&](bool had) { return patient.get() != had && channel.receive() == (had ? 1 : 2); });
}

TEST_CASE("A result that comes at the deadline, or stop, of a wait for it is seen by the next") {
  fiber::promise<int> promise;
  fiber::future<int> future = promise.get_future();
  for_all_orders(
      [&](const std::stop_token& stop) {
        return future.wait_for(1h, stop) == std::future_status::ready;
      },
      [&] { promise.set_value(3); },
      [&](bool) {
        const bool is_there = future.get() == 3;
        promise = fiber::promise<int>();
        future = promise.get_future();
        return is_there;
      });
}

TEST_CASE("A release of nothing returns while somebody waits") {
  fiber::runtime run(1);
  run.run([] {
    fiber::binary_semaphore semaphore(0);
    bool begins = false;
    auto waits = fiber::async([&] {
      begins = true;
      semaphore.acquire();
    });
    while (!begins) fiber::this_fiber::yield();
    semaphore.release(0);
    CHECK(waits.wait_for(0s) == std::future_status::timeout);
    semaphore.release();
    waits.get();
  });
}
