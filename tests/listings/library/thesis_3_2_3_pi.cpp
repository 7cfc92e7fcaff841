// SPDX-License-Identifier: Apache-2.0
// RUN: output -O2
// OUT: 3.1
// Thesis 3.2.3: the estimation of pi with the low-level dispatcher interface.
// local_dispatcher stands for the listing's aws_dispatcher; n is a tenth, the estimate rounded.
#include <cppless/cppless.hpp>

#include <iomanip>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

const int n = 1000000;
const int np = 128;
double pi_estimate(int);
int main(int, char*[])
{
  cppless::local_dispatcher dispatcher;
  auto aws = dispatcher.create_instance();

  std::vector<double> results(np);
  auto fn = [=] { return pi_estimate(n / np); };
  for (auto& result : results)

    cppless::dispatch(aws, fn, result);
  cppless::wait(aws, np);
  auto pi = std::reduce(results.begin(), results.end()) / np;
  std::cout << std::setprecision(2) << pi << std::endl;
}

// Every task draws the same points unless it is seeded otherwise: all estimates are one estimate.
double pi_estimate(int samples) {
  std::mt19937 random(samples);
  std::uniform_real_distribution<double> side(0, 1);
  int inside = 0;
  for (int i = 0; i < samples; ++i) {
    const double x = side(random), y = side(random);
    inside += x * x + y * y <= 1 ? 1 : 0;
  }
  return 4.0 * inside / samples;
}
