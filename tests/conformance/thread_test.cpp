// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "under_test.hpp"

using namespace std::chrono_literals;

TEST_CASE("Several threads dispatch and wait on one instance: each id reaches one of them") {
  auto instance = make_instance();
  constexpr int threads = 6;
  const int each_sends = scaled(500);
  std::vector<std::vector<int>> results(threads, std::vector<int>(each_sends, -1));
  std::mutex mutex;
  std::multiset<cppless::task_id> sent, returned;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < each_sends; ++i) {
        const auto id =
            cppless::dispatch(instance, [](int a, int b) { return a * b; }, results[t][i], {t, i});
        const auto finished = instance.wait_one().id;
        const std::lock_guard lock(mutex);
        sent.insert(id);
        returned.insert(finished);
      }
    });
  }
  for (auto& each : running) each.join();
  CHECK(sent == returned);
  CHECK(std::set<cppless::task_id>(sent.begin(), sent.end()).size() == sent.size());
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < each_sends; ++i) REQUIRE(results[t][i] == t * i);
  }
}

TEST_CASE("Several threads wait for futures of one instance at once") {
  auto instance = make_instance();
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int t = 0; t < 6; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < scaled(300); ++i) {
        auto future = cppless::async(
            instance, [](int a, int b) { return std::to_string(a) + std::to_string(b); }, t, i);
        if (i % 3 == 0) future.wait_for(100us);
        if (future.get() != std::to_string(t) + std::to_string(i)) ++wrong;
      }
    });
  }
  for (auto& each : running) each.join();
  CHECK(wrong == 0);
}

TEST_CASE("Of two threads that wait for one task, one is told that nothing is left") {
  auto instance = make_instance();
  for (int round = 0; round < 20; ++round) {
    int result = 0;
    cppless::dispatch(instance, [] { return std::this_thread::sleep_for(2ms), 1; }, result);
    std::atomic<int> returned{0}, rejected{0};
    const auto wait = [&] {
      const caught error = error_of([&] { instance.wait_one(); });
      ++(error.any && error.kind == cppless::error_kind::rejected ? rejected : returned);
    };
    std::thread other(wait);
    wait();
    other.join();
    CHECK(returned == 1);
    CHECK(rejected == 1);
  }
}

TEST_CASE("A thread that waits for a short time does not keep others from their results") {
  auto instance = make_instance();
  auto slow = cppless::async(instance, [] { std::this_thread::sleep_for(100ms); });
  std::atomic<bool> is_over{false};
  std::thread impatient([&] {
    while (!is_over) slow.wait_for(1ms);
  });
  int sum = 0;
  for (int i = 0; i < 50; ++i) sum += cppless::async(instance, [](int x) { return x; }, i).get();
  is_over = true;
  impatient.join();
  CHECK(sum == 49 * 50 / 2);
  slow.get();
}

TEST_CASE("Many instances work side by side and one after another") {
  {
    std::vector<cppless::instance> instances;
    for (int i = 0; i < (is_sanitized ? 4 : 12); ++i) instances.push_back(make_instance());
    std::vector<cppless::future<int>> futures;
    for (int round = 0; round < 3; ++round) {
      for (auto& each : instances) {
        futures.push_back(cppless::async(each, [](int x) { return x; }, round));
      }
    }
    for (std::size_t i = 0; i < futures.size(); ++i) {
      CHECK(futures[i].get() == static_cast<int>(i / instances.size()));
    }
  }
  for (int i = 0; i < (is_sanitized ? 5 : 30); ++i) {
    auto instance = make_instance();
    if (i % 3 == 0) continue;  // never used
    CHECK(cppless::async(instance, [](int x) { return x; }, i).get() == i);
  }
}

TEST_CASE("Ids are unique within an instance and tasks belong to theirs") {
  auto one = make_instance();
  auto two = make_instance();
  int a = 0, b = 0;
  const auto id = cppless::dispatch(one, [] { return 1; }, a);
  cppless::dispatch(two, [] { return 2; }, b);
  CHECK(one.wait_one().id == id);
  CHECK(a == 1);
  CHECK(error_of([&] { one.wait_one(); }).kind == cppless::error_kind::rejected);
  two.wait_one();
  CHECK(b == 2);
}

TEST_CASE("An instance can be moved with work outstanding") {
  auto first = make_instance();
  std::vector<int> results(10);
  for (int i = 0; i < 10; ++i) cppless::dispatch(first, [](int x) { return x; }, results[i], {i});
  cppless::instance second = std::move(first);
  cppless::wait(second, 10);
  second = make_instance();
  CHECK(cppless::async(second, [] { return 3; }).get() == 3);
  for (int i = 0; i < 10; ++i) CHECK(results[i] == i);
}

TEST_CASE("An instance destroyed with work outstanding ends in time and writes nothing afterwards") {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<int> results(200, -1);
  std::vector<cppless::future<int>> futures;
  {
    auto instance = make_instance();
    const bool runs = runs_by_itself();
    for (int i = 0; i < 200; ++i) {
      const auto task = [runs](int x) {
        if (runs && x >= 100) run_for_ever();
        return x;
      };
      cppless::dispatch(instance, task, results[i], {i});
      futures.push_back(cppless::async(instance, task, i));
    }
    std::this_thread::sleep_for(20ms);
  }
  CHECK(std::chrono::steady_clock::now() - begin < (is_sanitized ? 60s : 10s));
  const std::vector<int> at_end = results;
  std::this_thread::sleep_for(20ms);
  CHECK(results == at_end);
  for (int i = 0; i < 200; ++i) {
    CHECK((results[i] == i || results[i] == -1));
    REQUIRE(futures[i].ready());
    const caught error = error_of([&] {
      if (futures[i].get() != i) throw cppless::rejected("another task's result");
    });
    if (error.any) CHECK(error.kind == cppless::error_kind::cancelled);
  }
}

TEST_CASE("Threads that wait for futures while the instance is destroyed are told") {
  if (!runs_by_itself()) return;
  for (int round = 0; round < (is_sanitized ? 3 : 10); ++round) {
    std::vector<std::thread> threads;
    std::atomic<int> cancelled{0};
    {
      auto instance = make_instance();
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back(
            [&, f = cppless::async(instance, [] { run_for_ever(); })]() mutable {
              const caught error = error_of([&] { f.get(); });
              if (error.kind == cppless::error_kind::cancelled) ++cancelled;
            });
      }
      std::this_thread::sleep_for(round * 5ms);
    }
    for (auto& each : threads) each.join();
    CHECK(cancelled == 4);
  }
}

TEST_CASE("A hundred thousand tasks may be queued at once") {
  const int count = scaled(100'000);
  auto instance = make_instance();
  std::vector<int> results(count, -1);
  for (int i = 0; i < count; ++i) {
    cppless::dispatch(instance, [](int x) { return x ^ 5; }, results[i], {i});
  }
  cppless::wait(instance, count);
  for (int i = 0; i < count; ++i) REQUIRE(results[i] == (i ^ 5));
}
