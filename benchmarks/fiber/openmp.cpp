// SPDX-License-Identifier: Apache-2.0
/// OpenMP tasks, once for each compiler's runtime: openmp N WORKERS prints seconds and fib(N).
#include <omp.h>

#include <cstdio>
#include <cstdlib>

namespace {

long fib(long n) {
  if (n < 2) return n;
  long first = 0;
#pragma omp task shared(first) firstprivate(n)
  first = fib(n - 1);
  const long second = fib(n - 2);
#pragma omp taskwait
  return first + second;
}

}  // namespace

int main(int, char** argv) {
  const long n = std::atol(argv[1]);
  double took = 0;
  long answer = 0;
#pragma omp parallel num_threads(std::atoi(argv[2]))
#pragma omp single
  {
    fib(15);
    const double begin = omp_get_wtime();
    answer = fib(n);
    took = omp_get_wtime() - begin;
  }
  std::printf("%.9f %ld\n", took, answer);
}
