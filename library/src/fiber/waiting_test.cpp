// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/waiting.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber/runtime.hpp>

namespace {

using namespace cppless::fiber;
using namespace cppless::fiber::detail;
using namespace std::chrono_literals;

/// The example of waiting.hpp.
struct event {
  spin_lock lock;
  wait_queue queue;
  bool is_set = false;

  void set() {
    std::unique_lock hold(lock);
    is_set = true;
    while (waiter* const first = queue.pop_front()) first->wake();
  }
  void wait() {
    std::unique_lock hold(lock);
    if (is_set) return;
    waiter me;
    queue.push_back(me);
    hold.unlock();
    me.wait();
  }
  bool wait_until(time_point deadline, const std::stop_token& stop = {}) {
    std::unique_lock hold(lock);
    if (is_set) return true;
    waiter me;
    queue.push_back(me);
    hold.unlock();
    if (me.wait_until(deadline, stop)) return true;
    hold.lock();
    if (queue.remove(me)) return false;
    hold.unlock();
    me.wait();
    return true;
  }
};

/// A task that nobody waits for through it.
struct joined {
  template <class F>
  explicit joined(F function) : made(make_task(current_or_attached(), std::move(function))) {
    submit(current_or_attached(), made);
  }
  ~joined() {
    if (!made.is_done()) wait_until_done(made);
    release_task(made);
  }
  joined(const joined&) = delete;
  result_task<void>& made;
};

}  // namespace

TEST_CASE("A fiber parks until an event is set by another fiber") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    runtime run(workers);
    const int result = run.run([] {
      event question, answer;
      int value = 0;
      const joined other([&] {
        question.wait();
        value = 42;
        answer.set();
      });
      question.set();
      answer.wait();
      return value;
    });
    CHECK(result == 42);
  }
}

TEST_CASE("A plain thread and a fiber wake each other") {
  runtime run(2);
  event question, answer;
  const joined fiber([&] {
    question.wait();
    answer.set();
  });
  std::thread thread([&] {
    question.set();
    answer.wait();
  });
  answer.wait();
  thread.join();
  CHECK(answer.is_set);
}

TEST_CASE("More fibers than workers wait at once, and all are woken") {
  runtime run(2);
  run.run([] {
    event all_wait, go;
    std::atomic<int> waiting{0}, woken{0};
    constexpr int count = 1000;
    std::vector<std::unique_ptr<joined>> fibers;
    for (int i = 0; i < count; ++i) {
      fibers.push_back(std::make_unique<joined>([&] {
        if (++waiting == count) all_wait.set();
        go.wait();
        ++woken;
      }));
    }
    all_wait.wait();
    CHECK(woken == 0);
    go.set();
    fibers.clear();
    CHECK(woken == count);
  });
}

TEST_CASE("A wait with a deadline ends there, of fibers and of plain threads") {
  runtime run(1);
  const auto waits_in_vain = [] {
    event never;
    return !never.wait_until(std::chrono::steady_clock::now() + 5ms) && never.queue.empty();
  };
  CHECK(run.run(waits_in_vain));
  CHECK(waits_in_vain());
}

TEST_CASE("A wait with a deadline is woken before it") {
  runtime run(2);
  const auto is_woken = [] {
    event set;
    const joined other([&] {
      yield();
      set.set();
    });
    return set.wait_until(std::chrono::steady_clock::now() + 1h);
  };
  CHECK(run.run(is_woken));
  CHECK(is_woken());
}

TEST_CASE("A stop request ends a wait") {
  runtime run(2);
  const auto is_stopped = [] {
    std::stop_source source;
    event never;
    const joined other([&] {
      yield();
      source.request_stop();
    });
    return !never.wait_until(time_point::max(), source.get_token());
  };
  CHECK(run.run(is_stopped));
  CHECK(is_stopped());
}

TEST_CASE("A stop requested before ends a wait at once") {
  runtime run(1);
  const auto is_stopped = [] {
    std::stop_source source;
    source.request_stop();
    event never;
    return !never.wait_until(time_point::max(), source.get_token());
  };
  CHECK(run.run(is_stopped));
  CHECK(is_stopped());
}

TEST_CASE("A yielding fiber lets a task have its turn on the same worker") {
  runtime run(1);
  run.run([] {
    std::atomic<bool> ran{false};
    const joined other([&] { ran = true; });
    while (!ran) yield();
    CHECK(ran);
  });
}

TEST_CASE("Exceptions in flight stay with their fiber while others throw") {
  runtime run(1);
  const std::string seen = run.run([] {
    event done;
    std::string result;
    try {
      throw std::runtime_error("mine");
    } catch (const std::exception& error) {
      const joined other([&] {
        try {
          throw std::logic_error("the other's");
        } catch (const std::exception&) {
          yield();
        }
        done.set();
      });
      done.wait();
      try {
        throw;
      } catch (const std::exception& again) {
        result = again.what();
      }
    }
    return result + std::to_string(std::uncaught_exceptions());
  });
  CHECK(seen == "mine0");
}

TEST_CASE("What a task leaves in fiber-local storage is destroyed when it ends") {
  runtime run(1);
  std::atomic<int> destroyed{0};
  run.run([&] {
    const joined other([&] {
      local_slot& slot = current_local_slot();
      CHECK(slot.data == nullptr);
      slot = {&destroyed, [](void* data) noexcept { ++*static_cast<std::atomic<int>*>(data); }};
      yield();
      CHECK(current_local_slot().data == &destroyed);
    });
  });
  CHECK(destroyed == 1);
}
