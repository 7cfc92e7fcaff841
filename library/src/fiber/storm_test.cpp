// SPDX-License-Identifier: Apache-2.0
// Storms: trees of tasks that spawn, steal, wait, park, yield, sleep, throw, stop and hand over
// promises as a hash of their place says, so that the result is known beforehand.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <cppless/fiber.hpp>

using namespace std::chrono_literals;
namespace fiber = cppless::fiber;

namespace {

std::uint64_t hash(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct failed : std::runtime_error {
  explicit failed(std::uint64_t with) : std::runtime_error("a node failed"), count(with) {}
  std::uint64_t count;
};

/// A node of the tree: what it does follows from `place`.
class node {
 public:
  node(std::uint64_t place, int depth) : place_(hash(place + 0x9e3779b97f4a7c15)), depth_(depth) {}

  int children() const { return depth_ == 0 ? 0 : static_cast<int>(place_ % 5); }
  node child(int index) const {
    return {place_ * 7 + static_cast<std::uint64_t>(index), depth_ - 1};
  }
  bool fails() const { return (place_ >> 8) % 11 == 0; }
  std::uint64_t choice(unsigned shift, std::uint64_t below) const {
    return (place_ >> shift) % below;
  }

  /// The nodes of the subtree.
  std::uint64_t count() const {
    std::uint64_t all = 1;
    for (int i = 0; i < children(); ++i) all += child(i).count();
    return all;
  }

 private:
  std::uint64_t place_;
  int depth_;
};

std::uint64_t storm(node at, std::vector<std::uint64_t>* trace);

std::uint64_t caught(fiber::future<std::uint64_t>& future) {
  try {
    return future.get();
  } catch (const failed& error) {
    return error.count;
  }
}

/// The children's counts come by futures, in one order or the other.
std::uint64_t by_futures(node at, std::vector<std::uint64_t>* trace) {
  std::vector<fiber::future<std::uint64_t>> futures;
  for (int i = 0; i < at.children(); ++i) {
    futures.push_back(fiber::async(storm, at.child(i), trace));
    if (at.choice(16, 3) == 0) fiber::this_fiber::yield();
  }
  std::uint64_t sum = 0;
  if (at.choice(20, 2) == 0) {
    for (auto& each : futures) sum += caught(each);
  } else {
    for (std::size_t i = futures.size(); i-- > 0;) {
      if (at.choice(24, 3) == 0) static_cast<void>(futures[i].wait_for(10us));
      sum += caught(futures[i]);
    }
  }
  return sum;
}

/// By a group, each child setting a promise that another task waits for.
std::uint64_t by_promises(node at, std::vector<std::uint64_t>* trace) {
  std::atomic<std::uint64_t> sum{0};
  fiber::task_group group;
  for (int i = 0; i < at.children(); ++i) {
    fiber::promise<std::uint64_t> promise;
    group.run([&sum, got = promise.get_future()]() mutable { sum += got.get(); });
    group.run([at, i, trace, promise = std::move(promise)]() mutable {
      try {
        promise.set_value(storm(at.child(i), trace));
      } catch (const failed& error) {
        promise.set_value(error.count);
      }
    });
  }
  group.wait();
  return sum;
}

/// By what follows a future, while others wait in vain until they are stopped.
std::uint64_t by_continuations(node at, std::vector<std::uint64_t>* trace) {
  std::stop_source source;
  fiber::promise<void> never;
  fiber::shared_future<void> in_vain = never.get_future();
  std::vector<fiber::future<bool>> vain;
  std::uint64_t sum = 0;
  for (int i = 0; i < at.children(); ++i) {
    vain.push_back(fiber::async([in_vain, token = source.get_token()] {
      return in_vain.wait_for(1h, token) == std::future_status::timeout;
    }));
    auto next = fiber::async(storm, at.child(i), trace).then([](std::uint64_t n) { return n; });
    sum += caught(next);
  }
  source.request_stop();
  for (auto& each : vain) {
    if (!each.get()) throw std::logic_error("it was not in vain");
  }
  return sum;
}

/// The number of nodes, by return or by throw.
std::uint64_t storm(node at, std::vector<std::uint64_t>* trace) {
  if (trace != nullptr) trace->push_back(at.choice(0, UINT64_MAX));
  std::uint64_t sum = 1;
  if (at.choice(32, 16) == 0) fiber::this_fiber::sleep_for(20us);
  switch (at.choice(36, 3)) {
    case 0: sum += by_futures(at, trace); break;
    case 1: sum += by_promises(at, trace); break;
    default: sum += by_continuations(at, trace); break;
  }
  if (at.fails()) throw failed(sum);
  return sum;
}

std::uint64_t storm_from(std::uint64_t place, int depth, std::vector<std::uint64_t>* trace) {
  fiber::future<std::uint64_t> whole = fiber::async(storm, node(place, depth), trace);
  return caught(whole);
}

std::vector<std::uint64_t> traced(std::uint64_t seed) {
  std::vector<std::uint64_t> trace;
  fiber::runtime run({.seed = seed});
  const std::uint64_t count = run.run([&] { return storm_from(5, 6, &trace); });
  CHECK(count == node(5, 6).count());
  CHECK(trace.size() == count);
  return trace;
}

}  // namespace

TEST_CASE("Storms of tasks come to the result known beforehand, on any number of workers") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    fiber::runtime run(workers);
    for (std::uint64_t place = 0; place < 12; ++place) {
      CHECK(run.run([place] { return storm_from(place, 6, nullptr); }) == node(place, 6).count());
    }
  }
}

TEST_CASE("Plain threads storm together with fibers") {
  fiber::runtime run(2);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (std::uint64_t place = 0; place < 4; ++place) {
    threads.emplace_back([place, &right] {
      if (storm_from(place, 5, nullptr) == node(place, 5).count()) ++right;
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(right == 4);
}

TEST_CASE("A task that others wait for with yield is begun, whosever deque it lies in") {
  fiber::runtime run(1);
  std::atomic<bool> begins{false}, is_set{false};
  fiber::future<void> spins = fiber::async([&] {
    begins = true;
    while (!is_set) fiber::this_fiber::yield();
  });
  while (!begins) std::this_thread::yield();
  fiber::future<void> sets = fiber::async([&] { is_set = true; });  // in this thread's deque
  while (!is_set) std::this_thread::yield();
  spins.get();
  sets.get();
}

TEST_CASE("A seed repeats a run exactly, and another one takes another order") {
  const std::vector<std::uint64_t> once = traced(1);
  CHECK(traced(1) == once);
  CHECK(traced(2) != once);
}

TEST_CASE("Deterministic runs pass deadlines in their order, in virtual time") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fiber::runtime run({.seed = seed});
    const std::vector<int> order = run.run([] {
      std::vector<int> woken;
      std::vector<fiber::future<void>> sleepers;
      for (const int hours : {3, 1, 2}) {
        sleepers.push_back(fiber::async([hours, &woken] {
          fiber::this_fiber::sleep_for(std::chrono::hours(hours));
          woken.push_back(hours);
        }));
      }
      sleepers.clear();
      return woken;
    });
    CHECK(order == std::vector<int>{1, 2, 3});
  }
}
