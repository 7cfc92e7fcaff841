// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "under_test.hpp"

// Between the program and local tasks. A task run in place cannot wait for the program.

namespace {

using namespace std::chrono_literals;
using cppless::channel_status;

cppless::instance workers(unsigned count) {
  return cppless::local_dispatcher({.workers = count}).create_instance();
}

bool is_local() { return has_processes() && !is_remote(); }

}  // namespace

TEST_CASE("Messages reach the program in order, and the end after the last of them") {
  if (!is_local()) return;
  auto instance = workers(2);
  const cppless::channel<std::string> lines;
  auto sent = cppless::async(instance, [lines] {
    for (int i = 0; i < 1000; ++i) lines.send("line " + std::to_string(i));
    lines.close();
  });
  int received = 0;
  while (const auto line = lines.receive()) {
    REQUIRE(*line == "line " + std::to_string(received));
    ++received;
  }
  CHECK(received == 1000);
  CHECK_FALSE(lines.receive());
  sent.get();
  CHECK(error_of([&] { lines.send("too late"); }).kind == cppless::error_kind::cancelled);
}

TEST_CASE("Tasks ask the program and each other, more of them than there are workers") {
  if (!is_local()) return;
  auto instance = workers(2);
  const cppless::channel<int> questions(4), answers(4), squares;
  std::vector<cppless::future<int>> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(cppless::async(instance, [=] {
      int count = 0;
      while (const auto number = questions.receive()) {
        squares.send(*number * *number);
        ++count;
      }
      return count;
    }));
  }
  auto sum = cppless::async(instance, [=] {
    long total = 0;
    for (int i = 0; i < 300; ++i) total += *squares.receive();
    return total;
  });
  for (int i = 1; i <= 300; ++i) questions.send(i);
  questions.close();
  CHECK(sum.get() == 300L * 301 * 601 / 6);
  int count = 0;
  for (auto& each : all) count += each.get();
  CHECK(count == 300);
}

TEST_CASE("A channel takes no more messages than it has room for") {
  const cppless::channel<int> two(2);
  CHECK(two.send_for(1, 0s) == channel_status::done);
  CHECK(two.send_for(2, 0s) == channel_status::done);
  CHECK(two.send_for(3, 20ms) == channel_status::timeout);
  CHECK(two.receive() == 1);
  CHECK(two.send_for(3, 0s) == channel_status::done);
  CHECK(two.receive() == 2);
  CHECK(two.receive() == 3);
  int none = 0;
  CHECK(two.receive_for(none, 20ms) == channel_status::timeout);
  two.close();
  CHECK(two.receive_for(none, 1h) == channel_status::closed);
  CHECK(two.send_for(4, 1h) == channel_status::closed);
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{257}}) {
    CHECK(error_of([&] { cppless::channel<int> made(wrong); }).says(std::to_string(wrong)));
  }
}

TEST_CASE("A message that is too large is refused with its size and the limit") {
  const cppless::channel<std::string> texts;
  texts.send(std::string(4000, 'x'));
  CHECK(texts.receive()->size() == 4000);
  const caught error = error_of([&] { texts.send(std::string(5000, 'x')); });
  CHECK(error.kind == cppless::error_kind::rejected);
  CHECK(error.says("5008"));
  CHECK(error.says("4095"));
}

TEST_CASE("Whoever waits for tasks that have all ended is told") {
  if (!is_local()) return;
  auto instance = workers(2);
  const cppless::channel<int> numbers;
  auto dies = cppless::async<cppless::lambda::config<cppless::lambda::with_attempts<1>>>(
      instance, [numbers] {
        numbers.send(1);
        ::_exit(3);
      });
  CHECK(numbers.receive() == 1);
  CHECK(error_of([&] { numbers.receive(); }).kind == cppless::error_kind::lost);
  CHECK(error_of([&] { dies.get(); }).kind == cppless::error_kind::lost);
}

TEST_CASE("A task that waits ends when the program lets go of the channel, or closes it") {
  if (!is_local()) return;
  auto instance = workers(1);
  for (const bool closes : {false, true}) {
    cppless::future<bool> waits;
    {
      const cppless::channel<int> numbers;
      waits = cppless::async(instance, [numbers] { return numbers.receive().has_value(); });
      std::this_thread::sleep_for(20ms);
      if (closes) numbers.close();
    }
    CHECK_FALSE(waits.get());
  }
  // And one that waits for room.
  cppless::future<int> sends;
  {
    const cppless::channel<int> numbers(1);
    sends = cppless::async(instance, [numbers] {
      int sent = 0;
      while (numbers.send_for(1, 1h) == channel_status::done) ++sent;
      return sent;
    });
    CHECK(numbers.receive() == 1);
  }
  CHECK(sends.get() >= 1);
}

TEST_CASE("select finds the channel that has something") {
  if (!is_local()) return;
  auto instance = workers(1);
  const cppless::channel<int> numbers;
  const cppless::channel<std::string> texts;
  CHECK_FALSE(cppless::select_for(10ms, numbers, texts));
  auto sent = cppless::async(instance, [texts] { texts.send("here"); });
  CHECK(cppless::select(numbers, texts) == 1);
  CHECK(texts.receive() == "here");
  sent.get();
  numbers.close();
  CHECK(cppless::select(numbers, texts) == 0);
}

TEST_CASE("A killed task leaves a channel that others go on with") {
  if (!is_local()) return;
  auto instance = workers(2);
  const cppless::channel<int> numbers(8);
  std::vector<cppless::future<void>> all;
  for (int i = 0; i < 30; ++i) {
    all.push_back(cppless::async<cppless::lambda::config<cppless::lambda::with_attempts<100>>>(
        instance, [numbers, i] {
          numbers.send(i);
          if (::getpid() % 3 == 0) ::_exit(1);
        }));
  }
  std::vector<int> seen(30);
  while (std::count(seen.begin(), seen.end(), 0) != 0) {
    ++seen[static_cast<std::size_t>(*numbers.receive())];
  }
  numbers.close();
  for (auto& each : all) {
    try {
      each.get();
    } catch (const cppless::task_failed&) {  // started again, and the channel was closed
    }
  }
}

TEST_CASE_TEMPLATE("The nodes of a graph send and receive", Executor,
                   cppless::graph::host_controlled_executor,
                   cppless::graph::delegating_executor<>) {
  if (!is_local()) return;
  const cppless::local_dispatcher dispatcher({.workers = 2});
  const cppless::channel<int> questions, answers;
  {
    cppless::graph::builder<Executor> builder{dispatcher};
    const auto start = schedule(builder);
    std::vector<cppless::graph::sender<int>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(then(start, [=] {
        int count = 0;
        for (; const auto number = questions.receive(); ++count) answers.send(*number * *number);
        return count;
      }));
    }
    auto total = then(all, [=](const std::vector<int>& counts) {
      answers.send(-1);
      return counts.at(0) + counts.at(1) + counts.at(2);
    });
    builder.start();
    for (int i = 0; i < 20; ++i) questions.send(i);
    questions.close();
    int sum = 0;
    for (int i = 0; i < 20; ++i) sum += answers.receive().value();
    CHECK(sum == 2470);
    CHECK(answers.receive().value() == -1);
    CHECK(total->future().get() == 20);
    // Every node that had it has ended.
    CHECK(error_of([&] { answers.receive(); }).kind == cppless::error_kind::lost);
  }
}

TEST_CASE_TEMPLATE("A channel counts as one that can be sent to while a node runs that captures it",
                   Executor, cppless::graph::host_controlled_executor,
                   cppless::graph::delegating_executor<>) {
  if (!is_local()) return;
  const cppless::channel<int> gate, numbers;
  cppless::graph::builder<Executor> builder{cppless::local_dispatcher({.workers = 2})};
  then(schedule(builder), [=] { numbers.send(2 * gate.receive().value()); });
  builder.start();
  int number = 0;
  CHECK(numbers.receive_for(number, 50ms) == channel_status::timeout);
  gate.send(4);
  CHECK(numbers.receive().value() == 8);
  builder.await_all();
  CHECK(error_of([&] { numbers.receive(); }).kind == cppless::error_kind::lost);
}

TEST_CASE("A node that never runs gives up its channels") {
  if (!is_local()) return;
  const cppless::channel<int> numbers;
  cppless::graph::builder builder{cppless::local_dispatcher({.workers = 1})};
  auto bad = then(schedule(builder), [] { throw std::runtime_error("first"); });
  auto never = then(bad, [numbers] { numbers.send(1); });
  CHECK(error_of([&] { builder.await_all(); }).says("first"));
  CHECK(error_of([&] { numbers.receive(); }).kind == cppless::error_kind::lost);
}

TEST_CASE_TEMPLATE("A channel may be a node's value", Executor,
                   cppless::graph::host_controlled_executor,
                   cppless::graph::delegating_executor<>) {
  if (!is_local()) return;
  const cppless::channel<int> numbers, gate;
  cppless::graph::builder<Executor> builder{cppless::local_dispatcher({.workers = 2})};
  const auto send = [](const cppless::channel<int>& from, const cppless::channel<int>& to) {
    to.send(2 * from.receive().value());
  };
  then(just(builder, gate), just(builder, numbers), send);
  builder.start();
  int number = 0;
  // As long as the node runs it may send: this is no `lost`.
  CHECK(numbers.receive_for(number, 50ms) == channel_status::timeout);
  gate.send(4);
  CHECK(numbers.receive().value() == 8);
  builder.await_all();
  CHECK(error_of([&] { numbers.receive(); }).kind == cppless::error_kind::lost);
}

TEST_CASE("A channel does not reach tasks on other machines") {
  if (!is_remote()) return;
  auto instance = make_instance();
  const cppless::channel<int> numbers;
  const caught error =
      error_of([&] { cppless::async(instance, [numbers] { numbers.send(1); }).get(); });
  CHECK(error.kind == cppless::error_kind::rejected);
  CHECK(error.says("other machines"));
}
