// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/channel.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber/async.hpp>
#include <cppless/fiber/runtime.hpp>
#include <cppless/fiber/select.hpp>
#include <cppless/fiber/this_fiber.hpp>

using namespace cppless;
using namespace std::chrono_literals;

TEST_CASE("Values go through a channel in order, and end when it is closed") {
  for (const unsigned workers : {1U, 2U}) {
    for (const std::size_t capacity : {1U, 7U}) {
      fiber::runtime run(workers);
      fiber::channel<std::unique_ptr<int>> numbers(capacity);
      auto received = fiber::async([&] {
        std::vector<int> all;
        while (auto next = numbers.receive()) all.push_back(**next);
        return all;
      });
      for (int i = 0; i < 100; ++i) CHECK(numbers.send(std::make_unique<int>(i)));
      numbers.close();
      CHECK_FALSE(numbers.send(std::make_unique<int>(100)));
      const std::vector<int> all = received.get();
      REQUIRE(all.size() == 100);
      for (int i = 0; i < 100; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
      CHECK(numbers.is_closed());
      CHECK_FALSE(numbers.receive().has_value());
    }
  }
}

TEST_CASE("Many senders and receivers of both kinds pass each value once") {
  fiber::runtime run(2);
  fiber::channel<int> numbers(3);
  std::atomic<long> sum{0};
  std::atomic<int> count{0};
  const auto receive = [&] {
    while (const auto next = numbers.receive()) {
      sum += *next;
      ++count;
    }
  };
  const auto send = [&] {
    for (int i = 1; i <= 300; ++i) numbers.send(i);
  };
  std::vector<fiber::future<void>> senders, receivers;
  for (int i = 0; i < 3; ++i) {
    senders.push_back(fiber::async(send));
    receivers.push_back(fiber::async(receive));
  }
  std::thread sender(send), receiver(receive);
  for (auto& each : senders) each.get();
  sender.join();
  numbers.close();
  for (auto& each : receivers) each.get();
  receiver.join();
  CHECK(count == 4 * 300);
  CHECK(sum == 4 * 300 * 301 / 2);
}

TEST_CASE("What does not fit now or in time is not sent, and stays with the sender") {
  fiber::runtime run(1);
  fiber::channel<std::string> words(1);
  std::string first = "first", second = "second";
  CHECK(words.try_send(first));
  CHECK_FALSE(words.try_send(second));
  CHECK_FALSE(words.send_for(second, 1ms));
  CHECK_FALSE(words.send_until(second, std::chrono::system_clock::now() + 1ms));
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(words.send_for(second, 1h, stop.get_token()));
  CHECK(second == "second");
  CHECK(words.try_receive() == "first");
  CHECK_FALSE(words.try_receive().has_value());
  CHECK_FALSE(words.receive_for(1ms).has_value());
  CHECK_FALSE(words.receive_until(std::chrono::steady_clock::now()).has_value());
  CHECK_FALSE(words.receive_for(1h, stop.get_token()).has_value());
  auto patient = fiber::async([&] { return words.receive_for(1h); });
  CHECK(words.send_for(second, 1h));
  CHECK(patient.get() == "second");
}

TEST_CASE("Closing a channel wakes those who wait to send and to receive") {
  fiber::runtime run(1);
  run.run([] {
    fiber::channel<int> full(1), empty(1);
    full.send(1);
    int begun = 0;
    std::vector<fiber::future<bool>> fibers;
    for (int i = 0; i < 3; ++i) {
      fibers.push_back(fiber::async([&] { return ++begun, full.send(2); }));
      fibers.push_back(fiber::async([&] { return ++begun, empty.receive().has_value(); }));
    }
    while (begun < 6) fiber::this_fiber::yield();  // one worker: now they wait
    full.close();
    empty.close();
    for (auto& each : fibers) CHECK_FALSE(each.get());
    CHECK(full.receive() == 1);
    CHECK_FALSE(full.receive().has_value());
  });
}

TEST_CASE("A channel needs room for at least one value") {
  CHECK_THROWS_WITH_AS(fiber::channel<int>(0), doctest::Contains("at least 1"), rejected);
}

TEST_CASE("select does the first case that can be done, and only that") {
  fiber::runtime run(1);
  fiber::channel<int> one(1), other(1), full(1);
  int from_one = 0, from_other = 0, value = 7;
  full.send(0);
  const auto choose = [&](auto wait) {
    return fiber::select_for(
        wait, fiber::on_receive(one, [&](auto next) { from_one = next.value_or(-1); }),
        fiber::on_receive(other, [&](auto next) { from_other = next.value_or(-1); }),
        fiber::on_send(full, value, [&](bool sent) { value = sent ? 1 : -1; }));
  };
  CHECK(choose(0s) == std::nullopt);
  CHECK(choose(1ms) == std::nullopt);
  other.send(3);
  CHECK(choose(1h) == 1);
  CHECK(from_other == 3);
  CHECK(full.receive() == 0);
  one.send(4);
  CHECK(choose(1h) == 0);
  CHECK(from_one == 4);
  CHECK(choose(1h) == 2);
  CHECK(value == 1);
  CHECK(full.receive() == 7);
  full.send(0);
  other.close();
  CHECK(choose(1h) == 1);
  CHECK(from_other == -1);
  full.close();
  CHECK(fiber::select(fiber::on_send(full, value, [&](bool sent) { value = sent ? 1 : -1; })) == 0);
  CHECK(value == -1);
}

TEST_CASE("A select that waits is ended by a value, by a stop and by nothing else") {
  fiber::runtime run(2);
  fiber::channel<int> one(1), other(1);
  std::stop_source stop;
  int sum = 0;
  auto chosen = fiber::async([&] {
    const auto add = [&](std::optional<int> next) { sum += next.value_or(100); };
    const auto from_one = [&] { return fiber::on_receive(one, add); };
    const auto from_other = [&] { return fiber::on_receive(other, add); };
    for (int i = 0; i < 2; ++i) fiber::select(from_one(), from_other());
    return fiber::select(stop.get_token(), from_one(), from_other());
  });
  other.send(2);
  one.send(1);
  stop.request_stop();
  CHECK(chosen.get() == std::nullopt);
  CHECK(sum == 3);
}

TEST_CASE("Several selects over the same channels lose no value and no wake-up") {
  fiber::runtime run(2);
  fiber::channel<int> one(1), other(2);
  std::atomic<int> count{0}, ended{0};
  const auto receive = [&] {
    bool first_open = true, second_open = true;
    while (first_open || second_open) {
      const auto take = [&](bool& open) {
        return [&](std::optional<int> next) { next ? void(++count) : void(open = false); };
      };
      if (first_open && second_open) {
        fiber::select(fiber::on_receive(one, take(first_open)),
                      fiber::on_receive(other, take(second_open)));
      } else if (first_open) {
        fiber::select(fiber::on_receive(one, take(first_open)));
      } else {
        fiber::select(fiber::on_receive(other, take(second_open)));
      }
    }
    ++ended;
  };
  const auto send = [&](int seed) {
    for (int i = 0; i < 200; ++i) {
      int value = i;
      if ((i + seed) % 3 == 0) {
        one.send(value);
      } else if ((i + seed) % 3 == 1) {
        other.send(value);
      } else {
        fiber::select(fiber::on_send(one, value, [](bool) {}),
                      fiber::on_send(other, value, [](bool) {}));
      }
    }
  };
  std::vector<fiber::future<void>> receivers, senders;
  for (int i = 0; i < 3; ++i) {
    receivers.push_back(fiber::async(receive));
    senders.push_back(fiber::async(send, i));
  }
  std::thread thread(receive);
  for (auto& each : senders) each.get();
  one.close();
  other.close();
  for (auto& each : receivers) each.get();
  thread.join();
  CHECK(count == 600);
  CHECK(ended == 4);
}
