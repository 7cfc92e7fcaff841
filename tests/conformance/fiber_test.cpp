// SPDX-License-Identifier: Apache-2.0
// Fibers that wait for tasks, whoever runs these.
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber.hpp>

#include "under_test.hpp"

using namespace std::chrono_literals;
namespace fiber = cppless::fiber;

namespace {

std::size_t thread_count() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

int square(int x) { return x * x; }

/// What tasks wait for, in whatever process: a file.
class gate {
 public:
  gate()
      : path_(std::filesystem::temp_directory_path() /
              ("cppless-gate-" + std::to_string(::getpid()))) {}
  ~gate() { std::filesystem::remove(path_); }
  void open() const { std::ofstream(path_) << "open"; }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

int passes(const std::string& gate) {
  while (!std::filesystem::exists(gate)) std::this_thread::sleep_for(1ms);
  return 3;
}

bool is_on_fibers() { return variable("CPPLESS_DISPATCHER") == "fiber"; }

}  // namespace

TEST_CASE("Fibers that wait for tasks, ten thousand at once, hold no thread") {
  const int count = scaled(10'000);
  auto instance = make_instance();
  const gate closed;
  const std::size_t threads_before = thread_count();
  std::size_t most_threads = 0;
  std::atomic<int> waiting{0};
  fiber::runtime one_worker(1);
  one_worker.run([&] {
    // Nothing comes before all wait.
    std::vector<cppless::future<int>> gate_keepers;
    for (unsigned i = 0; has_processes() && !is_remote() && i < worker_count(); ++i) {
      gate_keepers.push_back(cppless::async(instance, cppless::fn<&passes>, closed.path()));
    }
    std::vector<cppless::future<int>> futures;
    for (int i = 0; i < count; ++i) {
      futures.push_back(cppless::async(instance, cppless::fn<&square>, i));
    }
    std::vector<fiber::future<int>> fibers;
    for (auto& each : futures) {
      fibers.push_back(fiber::async([&] {
        if (++waiting == count) {
          most_threads = thread_count();
          closed.open();
        }
        return each.get();
      }));
    }
    for (int i = 0; i < count; ++i) CHECK(fibers[i].get() == i * i);
    most_threads = std::max(most_threads, thread_count());
    for (auto& each : gate_keepers) each.get();
  });
  CHECK(waiting == count);
  // The worker, one that looks after the instance, and those of the instance itself.
  if (!is_remote()) CHECK(most_threads <= threads_before + 4);
}

TEST_CASE("While a fiber waits for a task the only worker does other things") {
  if (is_on_fibers()) return;  // there the task itself keeps it
  auto instance = make_instance();
  const gate closed;
  fiber::runtime one_worker(1);
  one_worker.run([&] {
    auto task = cppless::async(instance, cppless::fn<&passes>, closed.path());
    auto other = fiber::async([&] {
      for (int turn = 0; turn < 10; ++turn) fiber::this_fiber::yield();
      closed.open();
    });
    CHECK(task.get() == 3);
    other.get();
  });
}

TEST_CASE("Fibers wait for dispatched tasks one by one, and each is returned once") {
  auto instance = make_instance();
  fiber::runtime two_workers(2);
  std::atomic<int> sum{0};
  two_workers.run([&] {
    std::vector<fiber::future<void>> fibers;
    std::vector<int> results(60);
    for (int i = 0; i < 60; ++i) cppless::dispatch(instance, cppless::fn<&square>, results[i], {i});
    for (int f = 0; f < 12; ++f) {
      fibers.push_back(fiber::async([&] {
        for (int i = 0; i < 5; ++i) {
          instance.wait_one();
          ++sum;
        }
      }));
    }
    for (auto& each : fibers) each.get();
    for (int i = 0; i < 60; ++i) CHECK(results[i] == i * i);
    CHECK(error_of([&] { instance.wait_one(); }).kind == cppless::error_kind::rejected);
  });
  CHECK(sum == 60);
}

TEST_CASE("A fiber's wait for a task ends at its time, and the result comes all the same") {
  if (!runs_by_itself()) return;
  auto instance = make_instance();
  fiber::runtime two_workers(2);
  two_workers.run([&] {
    const gate closed;
    auto task = cppless::async(instance, cppless::fn<&passes>, closed.path());
    for (int turn = 0; turn < 3; ++turn) CHECK_FALSE(task.wait_for(5ms));
    closed.open();
    CHECK(task.get() == 3);
    CHECK(cppless::async(instance, cppless::fn<&square>, 2).wait_for(std::chrono::hours::max()));
  });
}

TEST_CASE("Fibers wait for combined futures, those of several instances too, and for their errors") {
  auto one = make_instance();
  auto two = make_instance();
  fiber::runtime one_worker(1);
  one_worker.run([&] {
    std::vector<cppless::future<int>> futures;
    for (int i = 0; i < 20; ++i) {
      futures.push_back(cppless::async(i % 2 == 0 ? one : two, cppless::fn<&square>, i)
                            .then([](int x) { return x + 1; }));
    }
    const auto all = cppless::when_all(std::move(futures)).get();
    for (int i = 0; i < 20; ++i) CHECK(all[i] == i * i + 1);
    auto bad = cppless::async(one, []() -> int { throw std::range_error("not here"); });
    CHECK(error_of([&] { bad.get(); }).says("not here"));
  });
}

TEST_CASE("Fibers that wait while the instance is destroyed are told") {
  if (!runs_by_itself()) return;
  fiber::runtime two_workers(2);
  std::atomic<int> cancelled{0};
  two_workers.run([&] {
    std::vector<fiber::future<void>> fibers;
    {
      auto instance = make_instance();
      for (int i = 0; i < 8; ++i) {
        auto task = std::make_shared<cppless::future<void>>(
            cppless::async(instance, [] { sleep_for_ever(); }));
        fibers.push_back(fiber::async([&cancelled, task] {
          if (error_of([&] { task->get(); }).kind == cppless::error_kind::cancelled) ++cancelled;
        }));
      }
      fiber::this_fiber::sleep_for(20ms);
    }
    for (auto& each : fibers) each.get();
  });
  CHECK(cancelled == 8);
}

TEST_CASE("A fiber runs a graph without holding its thread") {
  fiber::runtime one_worker(1);
  one_worker.run([&] {
    using cppless::execution::schedule;
    using cppless::execution::then;
    auto graph_in_fiber = [] {
      cppless::graph::builder builder{cppless::default_dispatcher()};
      auto start = schedule(builder);
      auto a = then(start, [] { return 2; });
      auto b = then(start, [] { return 3; });
      auto c = then(a, b, [](int x, int y) { return x * y; });
      return c->future().get();
    };
    auto first = fiber::async(graph_in_fiber), second = fiber::async(graph_in_fiber);
    CHECK(first.get() == 6);
    CHECK(second.get() == 6);
  });
}
