// SPDX-License-Identifier: Apache-2.0
/// What tasks and the program exchange while they run, beside what the system offers for it.
///   stream       a message from a task to the program, of many; beside a pipe in packet mode
///   round trip   a message there and back through two channels; beside two pipes
///   update       raising a shared maximum that is raised each time; beside an atomic in shared memory
///   read         reading it
///   turn         a value there and back through two shared variables, both sides spinning

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cppless/cppless.hpp>

#include <atomic>
#include <numeric>

#include "harness.hpp"

namespace {

constexpr int messages = 50'000;
constexpr int trips = 5'000;
constexpr int operations = 5'000'000;

using peak = cppless::shared_variable<int, cppless::merge::max>;

struct pipe_ends {
  int reading, writing;
  pipe_ends() {
    int ends[2];
    if (::pipe2(ends, O_DIRECT) != 0) std::abort();
    reading = ends[0];
    writing = ends[1];
  }
  ~pipe_ends() {
    ::close(reading);
    ::close(writing);
  }
  void send(int value) const {
    if (::write(writing, &value, sizeof value) != sizeof value) std::abort();
  }
  int receive() const {
    int value = 0;
    if (::read(reading, &value, sizeof value) != sizeof value) std::abort();
    return value;
  }
};

/// Runs `child` in a process of its own beside `parent`, and gives what that returns.
template <class Child, class Parent>
auto beside(const Child& child, const Parent& parent) {
  const pid_t id = ::fork();
  if (id == 0) {
    child();
    ::_exit(0);
  }
  const auto result = parent();
  ::waitpid(id, nullptr, 0);
  return result;
}

std::atomic<int>* shared_atomics() {
  static auto* const page = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return page;
}

void raise(std::atomic<int>& value, int to) {
  int seen = value.load(std::memory_order_relaxed);
  while (seen < to && !value.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

// Each in microseconds for one. What is exchanged is checked, and a wrong answer is negative.

double stream_by_channel(cppless::instance& on) {
  const cppless::channel<int> numbers(256);
  long sum = 0;
  auto sent = cppless::async(on, [numbers] {
    for (int i = 0; i < messages; ++i) numbers.send(i);
    numbers.close();
  });
  sum += *numbers.receive();
  const double us = bench::microseconds([&] {
    while (const auto number = numbers.receive()) sum += *number;
  });
  sent.get();
  return sum == long{messages} * (messages - 1) / 2 ? us / messages : -1;
}

double stream_by_pipe() {
  const pipe_ends numbers;
  ::fcntl(numbers.writing, F_SETPIPE_SZ, 256 * 4096);
  return beside([&] { for (int i = 0; i < messages; ++i) numbers.send(i); },
                [&] {
                  long sum = numbers.receive();
                  const double us = bench::microseconds([&] {
                    for (int i = 1; i < messages; ++i) sum += numbers.receive();
                  });
                  return sum == long{messages} * (messages - 1) / 2 ? us / messages : -1;
                });
}

double trip_by_channel(cppless::instance& on) {
  const cppless::channel<int> there, back;
  auto echo = cppless::async(on, [there, back] {
    while (const auto number = there.receive()) back.send(*number + 1);
  });
  int value = 0;
  const auto trip = [&] {
    there.send(value);
    value = *back.receive();
  };
  trip();
  const double us = bench::microseconds([&] {
    for (int i = 1; i < trips; ++i) trip();
  });
  there.close();
  echo.get();
  return value == trips ? us / trips : -1;
}

double trip_by_pipe() {
  const pipe_ends there, back;
  return beside([&] { for (int i = 0; i < trips; ++i) back.send(there.receive() + 1); },
                [&] {
                  int value = 0;
                  const auto trip = [&] {
                    there.send(value);
                    value = back.receive();
                  };
                  trip();
                  const double us = bench::microseconds([&] {
                    for (int i = 1; i < trips; ++i) trip();
                  });
                  return value == trips ? us / trips : -1;
                });
}

double update_by_variable(cppless::instance& on) {
  const peak most(0);
  const double us = cppless::async(on, [most] {
    return bench::microseconds([&] {
      for (int i = 1; i <= operations; ++i) most.update(i);
    });
  }).get();
  return most.get() == operations ? us / operations : -1;
}

double update_by_atomic() {
  std::atomic<int>& most = shared_atomics()[0];
  most = 0;
  const double us = bench::microseconds([&] {
    for (int i = 1; i <= operations; ++i) raise(most, i);
  });
  return most == operations ? us / operations : -1;
}

double read_by_variable(cppless::instance& on) {
  const peak most(3);
  return cppless::async(on, [most] {
    long sum = 0;
    const double us = bench::microseconds([&] {
      for (int i = 0; i < operations; ++i) sum += most.get();
    });
    return sum == 3L * operations ? us / operations : -1;
  }).get();
}

double read_by_atomic() {
  std::atomic<int>& most = shared_atomics()[0];
  most = 3;
  long sum = 0;
  const double us = bench::microseconds([&] {
    for (int i = 0; i < operations; ++i) sum += most.load(std::memory_order_relaxed);
  });
  return sum == 3L * operations ? us / operations : -1;
}

double turn_by_variable(cppless::instance& on) {
  const peak there(0), back(0);
  auto other = cppless::async(on, [there, back] {
    for (int i = 1; i <= trips; ++i) {
      while (there.get() < i) {
      }
      back.update(i);
    }
  });
  const auto turn = [&](int i) {
    there.update(i);
    while (back.get() < i) {
    }
  };
  turn(1);
  const double us = bench::microseconds([&] {
    for (int i = 2; i <= trips; ++i) turn(i);
  });
  other.get();
  return us / trips;
}

double turn_by_atomic() {
  std::atomic<int>& there = shared_atomics()[0];
  std::atomic<int>& back = shared_atomics()[64];
  there = back = 0;
  return beside(
      [&] {
        for (int i = 1; i <= trips; ++i) {
          while (there.load() < i) {
          }
          raise(back, i);
        }
      },
      [&] {
        const auto turn = [&](int i) {
          raise(there, i);
          while (back.load() < i) {
          }
        };
        turn(1);
        const double us = bench::microseconds([&] {
          for (int i = 2; i <= trips; ++i) turn(i);
        });
        return us / trips;
      });
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("exchange", argc, argv);
  double last = 0;
  const auto right = [&] { return last >= 0; };
  cppless::instance workers = cppless::local_dispatcher({.workers = 1}).create_instance();
  const auto compare = [&](const std::string& name, const std::string& reference, auto theirs,
                           auto ours) {
    suite.compare(name, bench::unit::us, reference,
                  {{reference, [&, theirs] { return last = theirs(); }, right},
                   {"cppless", [&, ours] { return last = ours(workers); }, right}});
  };
  compare("stream", "pipe", stream_by_pipe, stream_by_channel);
  compare("round trip", "pipes", trip_by_pipe, trip_by_channel);
  compare("update", "atomic in shared memory", update_by_atomic, update_by_variable);
  compare("read", "atomic in shared memory", read_by_atomic, read_by_variable);
  compare("turn", "atomics in shared memory", turn_by_atomic, turn_by_variable);
  return suite.finish();
}
