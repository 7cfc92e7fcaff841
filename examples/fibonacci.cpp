// SPDX-License-Identifier: Apache-2.0
// Tasks that dispatch tasks: fibonacci(n) dispatches fibonacci(n - 1) and fibonacci(n - 2) and
// waits for both. A task that waits gives its worker to others, so any depth works on any number
// of workers. (A showcase of recursion, not the way to compute Fibonacci numbers.)
#include <cppless/cppless.hpp>

#include "report.hpp"

long serial_fibonacci(int n) {
  return n < 2 ? n : serial_fibonacci(n - 1) + serial_fibonacci(n - 2);
}

// Below `cutoff` a task is not worth its dispatch.
long fibonacci(int n, int cutoff) {
  if (n < 2 || n <= cutoff) return serial_fibonacci(n);

  cppless::default_dispatcher dispatcher;
  cppless::instance workers = dispatcher.create_instance();
  auto first = cppless::async(workers, cppless::fn<&fibonacci>, n - 1, cutoff);
  auto second = cppless::async(workers, cppless::fn<&fibonacci>, n - 2, cutoff);
  return first.get() + second.get();
}

int main(int argc, char** argv) {
  const example::arguments arguments(argc, argv, "Fibonacci numbers by recursive tasks.",
                                     {{"n", 44, "which Fibonacci number, at most 90"},
                                      {"cutoff", 37, "where the recursion stops making tasks"}});
  const int n = std::min(arguments["n"], 90), cutoff = arguments["cutoff"];

  example::race race;
  const long serial = race.serial([&] { return serial_fibonacci(n); });
  const long parallel = race.parallel([&] { return fibonacci(n, cutoff); });

  long expected = 0, next = 1;
  for (int i = 0; i < n; ++i) next += std::exchange(expected, next);
  std::printf("fibonacci  %ld\n", parallel);
  return race.finish(parallel == serial && parallel == expected);
}
