// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/barrier.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>

using namespace cppless;

TEST_CASE("Nobody passes a barrier before all have arrived, phase after phase") {
  for (const unsigned workers : {1U, 2U}) {
    fiber::runtime run(workers);
    constexpr int members = 5, phases = 50;
    int completed = 0;
    std::vector<int> steps(members, 0);
    bool in_step = true;
    const auto completion = [&]() noexcept {
      ++completed;
      for (const int each : steps) in_step = in_step && each == completed;
    };
    fiber::barrier barrier(members, completion);
    const auto work = [&](int me) {
      for (int phase = 0; phase < phases; ++phase) {
        ++steps[static_cast<std::size_t>(me)];
        barrier.arrive_and_wait();
      }
    };
    std::vector<fiber::future<void>> fibers;
    for (int i = 1; i < members; ++i) fibers.push_back(fiber::async(work, i));
    std::thread thread(work, 0);
    for (auto& each : fibers) each.get();
    thread.join();
    CHECK(completed == phases);
    CHECK(in_step);
  }
}

TEST_CASE("Arriving does not wait, and a token of a phase that has ended neither") {
  fiber::runtime run(1);
  fiber::barrier<> barrier(2);
  auto early = barrier.arrive();
  auto second = fiber::async([&] { barrier.arrive_and_wait(); });
  second.get();
  barrier.wait(std::move(early));
  barrier.wait(barrier.arrive(2));
}

TEST_CASE("Whoever drops out is not waited for in later phases") {
  fiber::runtime run(2);
  int phases = 0;
  fiber::barrier barrier(3, [&]() noexcept { ++phases; });
  auto leaves = fiber::async([&] { barrier.arrive_and_drop(); });
  const auto stays = [&] {
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
  };
  auto other = fiber::async(stays);
  stays();
  leaves.get();
  other.get();
  CHECK(phases == 2);
}
