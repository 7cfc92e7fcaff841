// SPDX-License-Identifier: Apache-2.0
/// Recursive Fibonacci with a task per call: nothing but overhead. `fib(n)` makes a task for
/// `fib(n-1)`, calls `fib(n-2)` itself and waits. Each runtime gets a size that takes it some
/// tenths of a second (the kernel may take milliseconds to put two busy threads on two cores);
/// times are per task.

#include <cmath>
#include <memory>
#include <string>

#include <cppless/fiber.hpp>

#include "fiber/peers.hpp"
#include "fiber/units.hpp"

namespace {

using namespace bench;

/// Not inlined into itself by the compiler, as the others' cannot be.
[[gnu::noinline]] long serial(long n) {
  if (n < 2) return n;
  const long first = serial(n - 1);
  asm volatile("");
  return first + serial(n - 2);
}

long with_futures(long n) {
  if (n < 2) return n;
  auto first = cppless::fiber::async(with_futures, n - 1);
  const long second = with_futures(n - 2);
  return first.get() + second;
}

long two_futures(long n) {
  if (n < 2) return n;
  auto first = cppless::fiber::async([n] { return two_futures(n - 1); });
  auto second = cppless::fiber::async([n] { return two_futures(n - 2); });
  return first.get() + second.get();
}

long with_fork_join(long n) {
  if (n < 2) return n;
  long first = 0, second = 0;
  cppless::fiber::fork_join([&] { first = with_fork_join(n - 1); },
                            [&] { second = with_fork_join(n - 2); });
  return first + second;
}

long with_group(long n) {
  if (n < 2) return n;
  long first = 0;
  cppless::fiber::task_group group;
  group.run([&first, n] { first = with_group(n - 1); });
  const long second = with_group(n - 2);
  group.wait();
  return first + second;
}

using function = long (*)(long);

/// `fib(n)` on `workers` in a runtime that starts and ends outside of the time.
implementation ours(std::string name, function fib, long n, unsigned workers, int per_call) {
  auto answer = std::make_shared<long>();
  return {std::move(name),
          [=] {
            cppless::fiber::runtime runtime(workers);
            // Once before, so that its workers are awake, as the others' are.
            runtime.run([fib] { return fib(15); });
            const double took = seconds([&] { *answer = runtime.run([&] { return fib(n); }); });
            return took * 1e9 * workers / tasks_of(n) / per_call;
          },
          [=] { return *answer == value_of(n); }};
}

implementation theirs(std::string name, peer_fib fib, long n, unsigned workers) {
  auto answer = std::make_shared<long>();
  return {std::move(name),
          [=] {
            const double took = fib(n, workers, *answer);
            return took * 1e9 * workers / tasks_of(n);
          },
          [=] { return *answer == value_of(n); }};
}

}  // namespace

int main(int argc, char** argv) {
  suite suite{"fiber_fib", argc, argv};
  for (const unsigned workers : {1U, 2U}) {
    auto answer = std::make_shared<long>();
    std::vector<implementation> all = {
        {"a call", [=] {
           volatile long n = 34;
           return seconds([&] { *answer = serial(n); }) * 1e9 / tasks_of(34);
         },
         [=] { return *answer == value_of(34); }},
        ours("cppless, a future per call", with_futures, 36, workers, 1),
        ours("cppless, two futures per call", two_futures, 35, workers, 2),
        ours("cppless, fork_join", with_fork_join, 36, workers, 1),
        ours("cppless, task_group", with_group, 34, workers, 1)};
    if (workers == 2) {
      all.push_back({"floor: a call, on both at once", [=] {
                       volatile long n = 34;
                       long other = 0;
                       return seconds_of_both([&] { *answer = serial(n); },
                                              [&] { other = serial(n); }) *
                              1e9 / tasks_of(34);
                     },
                     [=] { return *answer == value_of(34); }});
    }
    for (const peer& each : peers()) {
      if (workers > each.most_workers) continue;
      all.push_back(theirs(each.name, each.fib, each.size, workers));
    }
    suite.compare("fib/" + std::to_string(workers), unit::worker_ns_per_task,
                  "cppless, a future per call", std::move(all));
  }
  return suite.finish();
}
