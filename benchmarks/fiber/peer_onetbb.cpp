// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "fiber/peers.hpp"
#include "harness.hpp"

namespace bench {

namespace {

long fib(long n) {
  if (n < 2) return n;
  long first = 0;
  tbb::task_group group;
  group.run([&first, n] { first = fib(n - 1); });
  const long second = fib(n - 2);
  group.wait();
  return first + second;
}

}  // namespace

double fib_onetbb(long n, unsigned workers, long& answer) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  tbb::task_arena arena(static_cast<int>(workers));
  double took = 0;
  arena.execute([&] {
    fib(15);  // its workers are awake then
    took = seconds([&] { answer = fib(n); });
  });
  return took;
}

}  // namespace bench
