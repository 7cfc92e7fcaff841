// SPDX-License-Identifier: Apache-2.0
// What is the fiber dispatcher's own; all else is in tests/conformance.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cppless/cppless.hpp>
#include <cppless/fiber.hpp>

using namespace std::chrono_literals;
namespace fiber = cppless::fiber;

namespace {

using cppless::fiber_dispatcher;

cppless::instance moving() { return fiber_dispatcher().create_instance(); }
cppless::instance serialising() {
  return fiber_dispatcher({.values = fiber_dispatcher::values::serialised}).create_instance();
}

/// Tells moved values from copied ones, and those that were encoded and decoded.
std::atomic<int> allocations{0};

template <class T>
struct counting_allocator {
  using value_type = T;
  counting_allocator() = default;
  template <class U>
  counting_allocator(const counting_allocator<U>&) noexcept {}
  T* allocate(std::size_t count) {
    ++allocations;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* block, std::size_t count) noexcept {
    std::allocator<T>().deallocate(block, count);
  }
  bool operator==(const counting_allocator&) const = default;
};

using counted = std::vector<int, counting_allocator<int>>;

std::size_t size_of(counted value) { return value.size(); }

struct both {
  counted numbers;
  std::string text;
};

both make_both() { return {counted(1000, 3), "made in the task"}; }

/// How many allocations `action` makes.
template <class F>
int allocations_of(F&& action) {
  const int before = allocations;
  action();
  return allocations - before;
}

/// Its author forgot a member.
struct forgetful {
  int sent = 0;
  int forgotten = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sent);
  }
};

struct list {
  int value = 0;
  std::unique_ptr<list> next;
};

int length_of(list first) {
  int length = 1;
  while (first.next != nullptr) {
    first = std::move(*std::exchange(first.next, nullptr));
    ++length;
  }
  return length;
}

template <class Failure, class F>
std::string message_of(F&& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

int sum(const std::vector<int>& of) {
  int total = 0;
  for (const int each : of) total += each;
  return total;
}

int go_down(int left) {
  if (left == 0) return 0;
  auto inner = moving();
  return cppless::async(inner, cppless::fn<&go_down>, left - 1).get() + 1;
}

}  // namespace

TEST_CASE("An argument given as an rvalue is the task's own and not a copy, one as a lvalue is copied") {
  auto instance = moving();
  counted numbers(1000, 1);
  CHECK(allocations_of([&] {
          CHECK(cppless::async(instance, cppless::fn<&size_of>, numbers).get() == 1000);
        }) == 1);
  CHECK(numbers.size() == 1000);
  CHECK(allocations_of([&] {
          CHECK(cppless::async(instance, cppless::fn<&size_of>, std::move(numbers)).get() == 1000);
        }) == 0);
}

TEST_CASE("What the task returns reaches the future and the variable as it is") {
  auto instance = moving();
  CHECK(allocations_of([&] {
          const both result = cppless::async(instance, cppless::fn<&make_both>).get();
          CHECK(result.numbers == counted(1000, 3));
          CHECK(result.text == "made in the task");
        }) == 1 + 1);  // and the one to compare with
  both variable;
  CHECK(allocations_of([&] {
          cppless::dispatch(instance, cppless::fn<&make_both>, variable);
          instance.wait_one();
        }) == 1);
  CHECK(variable.numbers.size() == 1000);
}

TEST_CASE("A task does not change the program's values, nor the program the task's") {
  auto instance = moving();
  std::vector<int> numbers(3, 1);
  auto future = cppless::async(instance, [](std::vector<int> mine) {
    for (int& each : mine) each *= 2;
    return mine;
  }, numbers);
  numbers.assign(3, 100);
  CHECK(future.get() == std::vector<int>{2, 2, 2});
  CHECK(numbers == std::vector<int>{100, 100, 100});
  const auto shared = std::make_shared<int>(1);
  cppless::async(instance, [](const std::shared_ptr<int>& mine) { *mine = 2; }, shared).get();
  CHECK(*shared == 1);  // as with all other dispatchers
}

TEST_CASE("Serialised values are decoded anew, as with other dispatchers") {
  auto instance = serialising();
  counted numbers(1000, 1);
  CHECK(allocations_of([&] {
          CHECK(cppless::async(instance, cppless::fn<&size_of>, std::move(numbers)).get() == 1000);
        }) == 1);
  CHECK(numbers.size() == 1000);
  CHECK(allocations_of([&] { cppless::async(instance, cppless::fn<&make_both>).get(); }) == 2);
}

TEST_CASE("A type with code of its author's goes through that, moved or not") {
  for (auto instance : {0, 1}) {
    auto on = instance == 0 ? moving() : serialising();
    const forgetful back =
        cppless::async(on, [](forgetful value) { return value; }, forgetful{1, 2}).get();
    CHECK(back.sent == 1);
    CHECK(back.forgotten == 0);
  }
}

TEST_CASE("A value too deep for a fiber's stack is refused, and one that is not arrives") {
  auto instance = serialising();
  const auto chain = [](int length) {
    list first;
    for (int i = 1; i < length; ++i) first = {i, std::make_unique<list>(std::move(first))};
    return first;
  };
  CHECK(cppless::async(instance, cppless::fn<&length_of>, chain(100)).get() == 100);
  list deep = chain(10'000);
  const std::string said = message_of<cppless::error>(
      [&] { cppless::async(instance, cppless::fn<&length_of>, deep).get(); });
  CHECK(said.find("nothing was thrown") == std::string::npos);
  length_of(std::move(deep));  // destroyed step by step
}

TEST_CASE("A task that is cancelled is told by its stop token, and its waiters at once") {
  auto instance = moving();
  static std::atomic<int> begun{0}, stopped{0};
  auto task = cppless::async(instance, [] {
    ++begun;
    const std::stop_token stop = fiber_dispatcher::stop_token();
    while (!stop.stop_requested()) fiber::this_fiber::sleep_for(1h, stop);
    ++stopped;
  });
  while (begun == 0) std::this_thread::yield();
  CHECK(task.cancel());
  CHECK(message_of<cppless::cancelled>([&] { task.get(); }).find("was cancelled") != std::string::npos);
  while (stopped == 0) std::this_thread::yield();
  CHECK_FALSE(fiber_dispatcher::stop_token().stop_possible());
}

TEST_CASE("What a task dispatches once it was given up is given up with it") {
  static std::atomic<int> begun{0}, ended{0};
  {
    auto instance = moving();
    auto task = cppless::async(instance, [] {
      const std::stop_token stop = fiber_dispatcher::stop_token();
      ++begun;
      while (!stop.stop_requested()) fiber::this_fiber::sleep_for(1h, stop);
      auto inner = moving();
      auto child = cppless::async(inner, [] {
        const std::stop_token never = fiber_dispatcher::stop_token();
        while (!never.stop_requested()) fiber::this_fiber::sleep_for(1h, never);
      });
      child.wait();  // for ever, were it not given up
      ++ended;
    });
    while (begun == 0) std::this_thread::yield();
    CHECK(task.cancel());
  }
  CHECK(ended == 1);
}

TEST_CASE("A task that runs into its timeout fails with that while it goes on") {
  auto instance = moving();
  static std::atomic<bool> may_end{false}, has_ended{false};
  using config = cppless::lambda::config<cppless::lambda::with_timeout<1>>;
  auto task = cppless::async<config>(instance, [] {
    while (!may_end) std::this_thread::sleep_for(1ms);
    has_ended = true;
  });
  CHECK(message_of<cppless::timeout>([&] { task.get(); }).find("timeout of 1 s") != std::string::npos);
  CHECK_FALSE(has_ended);
  may_end = true;
  { auto closes_first = std::move(instance); }
  CHECK(has_ended);  // closing waits for what runs
}

TEST_CASE("Closing an instance does not begin tasks that wait, and waits for those that run") {
  static std::atomic<int> begun{0}, ended{0};
  std::vector<cppless::future<void>> futures;
  {
    fiber::runtime one_worker(1);
    auto instance = moving();
    for (int i = 0; i < 10; ++i) {
      futures.push_back(cppless::async(instance, [] {
        ++begun;
        std::this_thread::sleep_for(50ms);
        ++ended;
      }));
    }
    while (begun == 0) std::this_thread::yield();
  }
  CHECK(begun < 10);
  CHECK(ended == begun);
  for (auto& each : futures) CHECK(each.ready());
}

TEST_CASE("A shared value is decoded once for all tasks, and nothing of it is kept") {
  auto instance = moving();
  const auto numbers = cppless::shared(std::vector<int>(1000, 2));
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 50; ++i) {
    futures.push_back(cppless::async(
        instance, [](const cppless::shared_value<std::vector<int>>& all) { return sum(*all); }, numbers));
  }
  for (auto& each : futures) CHECK(each.get() == 2000);
}

TEST_CASE("Tasks on fibers call each other to any depth without a thread each") {
  fiber::runtime one_worker(1);
  auto instance = moving();
  CHECK(cppless::async(instance, cppless::fn<&go_down>, 500).get() == 500);
}
