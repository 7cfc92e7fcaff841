// SPDX-License-Identifier: Apache-2.0
#include "fiber/peers.hpp"

#include <cstdio>
#include <future>
#include <string>

#include "harness.hpp"

namespace bench {

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto first = std::async(std::launch::async, fib, n - 1);
  const long second = fib(n - 2);
  return first.get() + second;
}

}  // namespace

/// A thread per task, on as many cores as there are: `workers` has no say.
double fib_std_async(long n, unsigned, long& answer) {
  return seconds([&] { answer = fib(n); });
}

/// Runs a program that prints its seconds and its answer.
[[maybe_unused]] static double run_program(const char* program, long n, unsigned workers,
                                           long& answer) {
  const std::string command =
      std::string(program) + " " + std::to_string(n) + " " + std::to_string(workers);
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("cannot run " + command);
  double took = 0;
  const int read = std::fscanf(output, "%lf %ld", &took, &answer);
  if (::pclose(output) != 0 || read != 2) throw std::runtime_error(command + " failed");
  return took;
}

#ifdef BENCH_OPENMP_GCC
double fib_openmp_gcc(long n, unsigned workers, long& answer) {
  return run_program(BENCH_OPENMP_GCC, n, workers, answer);
}
#endif
#ifdef BENCH_OPENMP_LLVM
double fib_openmp_llvm(long n, unsigned workers, long& answer) {
  return run_program(BENCH_OPENMP_LLVM, n, workers, answer);
}
#endif

std::vector<peer> peers() {
  std::vector<peer> found;
#ifdef BENCH_ONETBB
  found.push_back({"oneTBB task_group", fib_onetbb, 30});
#else
  std::printf("   without oneTBB: libtbb-dev is not installed\n");
#endif
#ifdef BENCH_OPENMP_GCC
  found.push_back({"OpenMP tasks, gcc", fib_openmp_gcc, 27});
#else
  std::printf("   without gcc's OpenMP: no g++ was found\n");
#endif
#ifdef BENCH_OPENMP_LLVM
  found.push_back({"OpenMP tasks, LLVM", fib_openmp_llvm, 27});
#else
  std::printf("   without LLVM's OpenMP: libomp-19-dev is not installed\n");
#endif
#ifdef BENCH_BOOST_FIBER
  // Its work stealing can be set up but once in a process.
  found.push_back({"Boost.Fiber async", fib_boost_fiber, 22, 1});
#else
  std::printf("   without Boost.Fiber: libboost-fiber1.81-dev is not installed\n");
#endif
  found.push_back({"std::async", fib_std_async, 15});
  return found;
}

}  // namespace bench
