// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What cppless's futures are compared with. Each that is installed is a source of its own; those
/// that are not are named at the start. OpenMP's two runtimes cannot be in one process, so that
/// they are programs of their own.

#include <vector>

namespace bench {

inline long value_of(long n) {
  long before = 1, value = 0;
  for (; n > 0; --n) {
    const long next = before + value;
    before = value;
    value = next;
  }
  return value;
}

/// How many tasks fib(n) makes: one per call that is not the end of the recursion.
inline double tasks_of(long n) { return static_cast<double>(value_of(n + 1) - 1); }

/// Computes fib(n) on so many workers; returns the seconds without starting them.
using peer_fib = double (*)(long n, unsigned workers, long& answer);

struct peer {
  const char* name;
  peer_fib fib;
  long size;  // n that takes it some tenths of a second
  unsigned most_workers = 1000;
};

double fib_onetbb(long n, unsigned workers, long& answer);
double fib_boost_fiber(long n, unsigned workers, long& answer);
double fib_openmp_gcc(long n, unsigned workers, long& answer);
double fib_openmp_llvm(long n, unsigned workers, long& answer);
double fib_std_async(long n, unsigned workers, long& answer);

std::vector<peer> peers();

}  // namespace bench
