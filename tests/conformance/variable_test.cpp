// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "under_test.hpp"

namespace {

using namespace cppless::merge;

struct cheapest {
  float cost = 0;
  int who = 0;
};

struct keep_cheapest {
  static constexpr bool is_repeatable = true;
  static cheapest merge(cheapest value, cheapest update) {
    return update.cost < value.cost ? update : value;
  }
};

std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i + 1;
  return all;
}

}  // namespace

TEST_CASE("Updates of shared variables merge as they are told to") {
  auto instance = make_instance();
  const cppless::shared_variable<int, sum> total(1000);
  const cppless::shared_variable<int, subtract> left(1000);
  const cppless::shared_variable<double, multiply> product(1);
  const cppless::shared_variable<double, divide> part(1024);
  const cppless::shared_variable<int, min> least(50);
  const cppless::shared_variable<int, max> most(-1);
  const cppless::shared_variable<cheapest, keep_cheapest> best({1e9F, -1});
  cppless::map(instance, numbers(10), [=](int i) {
    total.update(i);
    total.update(i);
    left.update(i);
    left.update(i);
    product.update(2);
    part.update(2);
    least.update(i);
    most.update(i);
    best.update({static_cast<float>((i - 4) * (i - 4)), i});
  });
  CHECK(total.get() == 1110);
  CHECK(left.get() == 890);
  CHECK(product.get() == 1024);
  CHECK(part.get() == 1);
  CHECK(least.get() == 1);
  CHECK(most.get() == 10);
  CHECK(best.get().who == 4);
  const cppless::shared_variable<int> last(0);
  cppless::async(instance, [last] { last.update(7); }).get();
  CHECK(last.get() == 7);
}

TEST_CASE("A task sees a shared variable's value and its own updates at once") {
  auto instance = make_instance();
  const cppless::shared_variable<int, sum> total(5);
  const cppless::shared_variable<int, max> most(5);
  const auto look = [=] {
    std::string seen = std::to_string(total.get()) + ' ' + std::to_string(most.get());
    total.update(2);
    total.update(3);
    most.update(9);
    most.update(7);
    return seen + ' ' + std::to_string(total.get()) + ' ' + std::to_string(most.get());
  };
  CHECK(cppless::async(instance, look).get() == "5 5 10 9");
  CHECK(cppless::async(instance, look).get() == "10 9 15 9");
  total.update(100);
  most.update(1000);
  CHECK(cppless::async(instance, look).get() == "115 1000 120 1000");
}

TEST_CASE("Updates of a task that fails do not count, those of one that is started again count once") {
  auto instance = make_instance();
  const cppless::shared_variable<int, sum> total(0);
  auto fails = cppless::async(instance, [total] {
    total.update(100);
    throw std::runtime_error("no");
  });
  CHECK_THROWS(fails.get());
  CHECK(total.get() == 0);
  if (!has_processes()) return;
  std::vector<cppless::future<void>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(cppless::async<cppless::lambda::config<cppless::lambda::with_attempts<100>>>(
        instance, [total] {
          total.update(1);
          if (::getpid() % 2 == 0) ::_exit(1);
        }));
  }
  for (auto& each : all) each.get();
  CHECK(total.get() == 20);
}

TEST_CASE("A local task passes a shared variable on to tasks of its own, but none that it has made") {
  if (is_remote()) return;
  auto instance = make_instance();
  const cppless::shared_variable<int, sum> total(1);
  cppless::async(instance, [total] {
    cppless::async(cppless::default_instance(), [total] { total.update(10); }).get();
    total.update(100);
  }).get();
  CHECK(total.get() == 111);
  if (!has_processes()) return;
  auto refused = cppless::async(instance, [] {
    const cppless::shared_variable<int, sum> mine(1);
    cppless::async(cppless::default_instance(), [mine] { mine.update(10); }).get();
  });
  CHECK(error_of([&] { refused.get(); }).says("cannot be passed on"));
}

TEST_CASE("A shared variable outlives the instances that have seen it") {
  const cppless::shared_variable<int, max> most(1);
  const cppless::shared_variable<int, sum> total(1);
  for (int round = 2; round < 5; ++round) {
    auto instance = make_instance();
    cppless::async(instance, [=] {
      most.update(most.get() + 1);
      total.update(1);
    }).get();
    CHECK(most.get() == round);
  }
  CHECK(most.get() == 4);
  CHECK(total.get() == 4);
}

TEST_CASE("Many shared variables come and go") {
  auto instance = make_instance();
  for (int i = 0; i < 300; ++i) {
    const cppless::shared_variable<int, max> most(i);
    const cppless::shared_variable<int, sum> total(i);
    const int seen = cppless::async(instance, [=] {
      total.update(most.get());
      most.update(i + 1);
      return most.get();
    }).get();
    CHECK(seen == i + 1);
    CHECK(most.get() == i + 1);
    CHECK(total.get() == 2 * i);
  }
}

TEST_CASE("An update by another thread than the task's is refused where it could be lost") {
  auto instance = make_instance();
  const cppless::shared_variable<int, sum> total(0);
  const auto other = [total] {
    std::string said;
    std::thread([&] {
      try {
        total.update(1);
      } catch (const cppless::rejected& why) {
        said = why.what();
      }
    }).join();
    return said;
  };
  CHECK(cppless::async(instance, other).get().find("does not run its task") != std::string::npos);
  CHECK(total.get() == 0);
}

TEST_CASE("Local tasks see each other's repeatable updates while they run") {
  if (is_remote() || !has_processes()) return;
  auto instance = cppless::local_dispatcher({.workers = 2}).create_instance();
  const cppless::shared_variable<int, max> most(0);
  const auto until = [most](int wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    most.update(wanted - 1);
    while (most.get() < wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    most.update(wanted + 1);
    return most.get() >= wanted;
  };
  auto first = cppless::async(instance, until, 2);
  auto second = cppless::async(instance, until, 3);
  CHECK(second.get() == first.get());
  CHECK(most.get() == 4);
}
