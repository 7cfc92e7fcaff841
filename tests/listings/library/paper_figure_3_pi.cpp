// SPDX-License-Identifier: Apache-2.0
// RUN: output -O2
// OUT: 3.1
// Paper figure 3: the estimation of pi, with a configuration.
// local_dispatcher stands for the listing's aws_dispatcher; n is a hundredth, the estimate rounded.
// Printing slips mended: `return` without braces in the lambda; the namespace of `lambda::config`
// is cppless's.
#include <cppless/cppless.hpp>

#include <iomanip>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

namespace lambda = cppless::lambda;

double pi_estimate(int n); // Implementation of the Monte Carlo estimation

double compute_pi() {
  const int n = 1000000, np = 128;

  cppless::local_dispatcher dispatcher;
  auto aws = dispatcher.create_instance();
  using config = lambda::config<cppless::lambda::with_memory<512>>;

  std::vector<double> r(np);
  // Define lambda function offloaded to serverless cloud
  auto fn = [=] { return pi_estimate(n / np); };
  for (auto& result : r)
    // Invoke remote cloud functions. Returned values are written to the vector
    cppless::dispatch<config>(aws, fn, result);
  cppless::wait(aws, np); // Wait for all invocations to finish

  return std::reduce(r.begin(), r.end()) / np;
}

double pi_estimate(int n) {
  std::mt19937 random(n);
  std::uniform_real_distribution<double> side(0, 1);
  int inside = 0;
  for (int i = 0; i < n; ++i) {
    const double x = side(random), y = side(random);
    inside += x * x + y * y <= 1 ? 1 : 0;
  }
  return 4.0 * inside / n;
}

int main() { std::cout << std::setprecision(2) << compute_pi() << std::endl; }
