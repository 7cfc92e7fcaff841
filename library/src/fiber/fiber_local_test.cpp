// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/fiber_local.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace cppless;

TEST_CASE("Each task and each thread has a value of its own, over waits") {
  fiber::runtime run(2);
  fiber::fiber_local<int> mine([] { return 100; });
  const auto work = [&](int add) {
    for (int i = 0; i < 20; ++i) {
      *mine += add;
      fiber::this_fiber::yield();
    }
    return *mine;
  };
  std::vector<fiber::future<int>> fibers;
  for (int i = 0; i < 20; ++i) fibers.push_back(fiber::async(work, i));
  std::thread thread([&] { CHECK(work(1000) == 20100); });
  for (int i = 0; i < 20; ++i) CHECK(fibers[static_cast<std::size_t>(i)].get() == 100 + 20 * i);
  thread.join();
  CHECK(*mine == 100);
}

TEST_CASE("A task that is called in place has values of its own, too") {
  fiber::runtime run(1);
  run.run([] {
    fiber::fiber_local<std::string> name;
    *name = "outer";
    CHECK(fiber::async([&] { return name->empty(); }).get());
    CHECK(*name == "outer");
  });
}

namespace {

std::vector<std::string> ends;

struct traced {
  std::string name;
  fiber::fiber_local<int>* used = nullptr;
  ~traced() {
    if (used != nullptr) name += std::to_string(++**used);
    if (!name.empty()) ends.push_back(name);
  }
};

}  // namespace

TEST_CASE("Values go when the task ends, the last first, and may use those before them") {
  ends.clear();
  fiber::runtime run(1);
  fiber::fiber_local<int> number([] { return 40; });
  fiber::fiber_local<int> late([] { return 0; });
  fiber::fiber_local<traced> first, second, third;
  const auto work = [&] {
    first->name = "first";
    ++*number;
    second->name = "second ";
    second->used = &number;
    third->name = "third ";
    third->used = &late;  // made only then
  };
  const std::vector<std::string> expected{"third 1", "second 42", "first"};
  fiber::async(work).get();
  CHECK(ends == expected);
  ends.clear();
  std::thread(work).join();
  CHECK(ends == expected);
}

TEST_CASE("Values outlive their variable, and a later variable does not find them") {
  fiber::runtime run(1);
  auto count = std::make_shared<int>(0);
  run.run([&] {
    {
      fiber::fiber_local<std::shared_ptr<int>> holds([&] { return count; });
      holds.get();
      CHECK(count.use_count() == 2);
    }
    fiber::fiber_local<std::shared_ptr<int>> other;
    CHECK(*other == nullptr);
    CHECK(count.use_count() == 2);
  });
  CHECK(count.use_count() == 1);
}

TEST_CASE("What making a value throws reaches the task, and it is made anew the next time") {
  fiber::runtime run(1);
  int made = 0;
  fiber::fiber_local<int> sometimes([&]() -> int {
    if (++made == 1) throw std::runtime_error("not yet");
    return made;
  });
  CHECK(fiber::async([&] {
          CHECK_THROWS_AS(sometimes.get(), std::runtime_error);
          return *sometimes;
        }).get() == 2);
}
