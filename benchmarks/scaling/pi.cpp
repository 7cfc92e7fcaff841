// SPDX-License-Identifier: Apache-2.0
/// Darts at a square, as in examples/pi.cpp: 64 tasks that need no data.

#include <numeric>
#include <random>

#include "split.hpp"

int main(int argc, char** argv) {
  bench::suite suite("scaling_pi", argc, argv);
  const int darts = 400'000;
  std::vector<int> seeds(64);
  std::iota(seeds.begin(), seeds.end(), 0);
  bench::compare_scaling(suite, seeds, [=](int seed) {
    std::mt19937 random(seed);
    long inside = 0;
    for (int dart = 0; dart < darts; ++dart) {
      const double x = random() * 0x1p-32, y = random() * 0x1p-32;
      inside += x * x + y * y <= 1;
    }
    return inside;
  });
  return suite.finish();
}
