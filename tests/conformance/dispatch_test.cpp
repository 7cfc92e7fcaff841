// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "under_test.hpp"

TEST_CASE("A dispatched lambda fills the result variable") {
  auto instance = make_instance();
  int a = -1;
  auto task = [=]() { return a + 3; };
  int result = 0;
  const cppless::task_id id = cppless::dispatch(instance, task, result, {});
  const auto [finished, statistics] = instance.wait_one();
  CHECK(finished == id);
  CHECK(statistics.id == id);
  CHECK(result == 2);
}

TEST_CASE("Arguments may be left out where the task takes none") {
  auto instance = make_instance();
  int result = 0;
  cppless::dispatch(instance, [] { return 7; }, result);
  cppless::wait(instance, 1);
  CHECK(result == 7);
}

TEST_CASE("Arguments are converted to the task's parameters") {
  auto instance = make_instance();
  std::string result;
  const std::string host = "host";
  cppless::dispatch(
      instance, [=](const std::string& a, int b, double c) {
        return host + a + std::to_string(b) + std::to_string(static_cast<int>(c));
      },
      result, {"-", 2, 3.0f});
  cppless::wait(instance, 1);
  CHECK(result == "host-23");
}

TEST_CASE("A task that returns nothing is waited for like any other") {
  auto instance = make_instance();
  const auto first = cppless::dispatch(instance, [](int) {}, {1});
  const auto second = cppless::dispatch(instance, [] {});
  std::set<cppless::task_id> seen{instance.wait_one().id, instance.wait_one().id};
  CHECK(seen == std::set<cppless::task_id>{first, second});
}

TEST_CASE("A configuration does not change what a task returns") {
  using config = cppless::lambda::config<cppless::lambda::with_timeout<60>,
                                         cppless::lambda::with_ephemeral_storage<64>,
                                         cppless::lambda::with_attempts<2>,
                                         cppless::lambda::with_deadline<60>>;
  auto instance = make_instance();
  auto task = [](int x) { return x * x; };
  int configured = 0, plain = 0;
  cppless::dispatch<config>(instance, task, configured, {9});
  cppless::dispatch(instance, task, plain, {8});
  cppless::wait(instance, 2);
  CHECK(configured == 81);
  CHECK(plain == 64);
}

TEST_CASE("Captures and arguments may change once dispatch has returned") {
  auto instance = make_instance();
  std::vector<int> results(50);
  std::vector<int> argument(100, 1);
  for (int& result : results) {
    cppless::dispatch(
        instance, [](const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); },
        result, {argument});
    argument.assign(100, static_cast<int>(&result - results.data()) + 2);
  }
  cppless::wait(instance, results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i] == 100 * (static_cast<int>(i) + 1));
  }
}

TEST_CASE("wait_one returns each id exactly once, in whatever order tasks finish") {
  auto instance = make_instance();
  std::map<cppless::task_id, int> expected;
  std::vector<int> results(300);
  for (int i = 0; i < 300; ++i) {
    const auto id = cppless::dispatch(instance, [](int x) { return x + 1; }, results[i], {i});
    CHECK(expected.emplace(id, i + 1).second);
  }
  for (int i = 0; i < 300; ++i) {
    const auto id = instance.wait_one().id;
    const auto found = expected.find(id);
    REQUIRE(found != expected.end());
    CHECK(results[found->second - 1] == found->second);
    expected.erase(found);
  }
  CHECK(expected.empty());
}

TEST_CASE("wait_one with nothing outstanding is rejected, also after tasks have been returned") {
  auto instance = make_instance();
  CHECK(error_of([&] { instance.wait_one(); }).kind == cppless::error_kind::rejected);
  int result = 0;
  cppless::dispatch(instance, [] { return 1; }, result);
  instance.wait_one();
  CHECK(error_of([&] { instance.wait_one(); }).kind == cppless::error_kind::rejected);
  CHECK(error_of([&] { cppless::wait(instance, 3); }).kind == cppless::error_kind::rejected);
  CHECK_NOTHROW(cppless::wait(instance, 0));
}

TEST_CASE("Tasks may be dispatched while others are waited for") {
  auto instance = make_instance();
  std::vector<int> results(200);
  int next = 0, finished = 0;
  const auto send = [&] {
    cppless::dispatch(instance, [](int x) { return x; }, results[next], {next});
    ++next;
  };
  for (int i = 0; i < 10; ++i) send();
  for (; finished < 200; ++finished) {
    instance.wait_one();
    if (next < 200) send();
  }
  for (int i = 0; i < 200; ++i) CHECK(results[i] == i);
}

TEST_CASE("wait_one throws a failed task's error with its id, and the others keep their results") {
  auto instance = make_instance();
  std::vector<int> results(20, -1);
  std::map<cppless::task_id, int> index_of;
  for (int i = 0; i < 20; ++i) {
    const auto id = cppless::dispatch(
        instance,
        [](int x) {
          if (x % 5 == 0) throw std::out_of_range("number " + std::to_string(x));
          return x;
        },
        results[i], {i});
    index_of[id] = i;
  }
  int failed = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      const int index = index_of.at(instance.wait_one().id);
      CHECK(results[index] == index);
    } catch (const cppless::task_failed& error) {
      const int index = index_of.at(error.id());
      CHECK(index % 5 == 0);
      CHECK(results[index] == -1);
      CHECK(error.kind() == cppless::error_kind::task_failed);
      CHECK(error.remote_type() == "std::out_of_range");
      CHECK(std::string(error.what()).find("number " + std::to_string(index)) != std::string::npos);
      ++failed;
    }
  }
  CHECK(failed == 4);
}

TEST_CASE("wait throws the first error only after all tasks are in") {
  auto instance = make_instance();
  std::vector<int> results(10, -1);
  for (int i = 0; i < 10; ++i) {
    cppless::dispatch(
        instance,
        [](int x) {
          if (x == 3) throw std::runtime_error("three");
          return x;
        },
        results[i], {i});
  }
  const caught error = error_of([&] { cppless::wait(instance, 10); });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.id != 0);
  CHECK(error.says("three"));
  for (int i = 0; i < 10; ++i) CHECK(results[i] == (i == 3 ? -1 : i));
  CHECK(error_of([&] { instance.wait_one(); }).kind == cppless::error_kind::rejected);
}

TEST_CASE("dispatch without an instance returns the result and throws the task's error") {
  CHECK(cppless::dispatch([](int a, int b) { return a + b; }, 40, 2) == 42);
  cppless::task task = [](std::string text) { return text + "!"; };
  CHECK(cppless::dispatch(task, "hello") == "hello!");
  cppless::dispatch([] {});
  CHECK(error_of([] { cppless::dispatch([] { throw std::logic_error("no"); }); }).says("no"));
}

TEST_CASE("Statistics tell times that fit into each other, and the worker's first task") {
  auto instance = make_instance();
  int result = 0;
  unsigned cold = 0;
  for (int i = 0; i < 50; ++i) {
    const auto id = cppless::dispatch(instance, [](int x) { return x; }, result, {i});
    const auto [finished, statistics] = instance.wait_one();
    CHECK(finished == id);
    CHECK(statistics.attempts == 1);
    CHECK(statistics.run.count() >= 0);
    CHECK(statistics.queue.count() >= 0);
    CHECK(statistics.queue + statistics.run <= statistics.total);
    if (i == 0) CHECK(statistics.cold);
    if (statistics.cold) ++cold;
    if (has_processes()) CHECK(statistics.peak_memory > 100'000);
  }
  CHECK(cold >= 1);
  CHECK(cold <= (has_processes() ? worker_count() : 1));
}

TEST_CASE("Statistics measure the time that the task runs") {
  auto instance = make_instance();
  auto future = cppless::async(instance, [] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    while (std::chrono::steady_clock::now() < until) {
    }
  });
  future.wait();
  CHECK(future.statistics().run >= std::chrono::milliseconds(30));
  CHECK(future.statistics().run <= future.statistics().total);
  CHECK(future.statistics().attempts == 1);
}

namespace {

struct fussy {
  int value = 0;

  template <class Archive>
  void save(Archive& archive) const {
    archive(value);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(value);
    if (value < 0) throw std::domain_error("fussy does not take " + std::to_string(value));
  }
};

}  // namespace

TEST_CASE("A result whose decoding throws fails its own task, under its id") {
  auto instance = make_instance();
  std::vector<fussy> results(3);
  std::vector<cppless::task_id> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(cppless::dispatch(
        instance, [](int x) { return fussy{x == 1 ? -1 : x}; }, results[i], {i}));
  }
  unsigned failed = 0;
  for (int i = 0; i < 3; ++i) {
    const caught error = error_of([&] { instance.wait_one(); });
    if (!error.any) continue;
    ++failed;
    CHECK(error.id == ids[1]);
    CHECK(error.kind == cppless::error_kind::rejected);
    CHECK(error.says("fussy does not take -1"));
  }
  CHECK(failed == 1);
  CHECK(results[2].value == 2);
  auto future = cppless::async(instance, [] { return fussy{-7}; });
  CHECK(error_of([&] { future.get(); }).says("fussy does not take -7"));
}

TEST_CASE("An argument whose decoding throws in the worker fails its own task only") {
  auto instance = make_instance();
  auto bad = cppless::async(instance, [](const fussy& f) { return f.value; }, fussy{-2});
  auto good = cppless::async(instance, [](const fussy& f) { return f.value; }, fussy{2});
  const caught error = error_of([&] { bad.get(); });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.remote_type == "std::domain_error");
  CHECK(good.get() == 2);
}
