// SPDX-License-Identifier: Apache-2.0
// Throws darts at a square and counts those in its quarter of a circle: their share is pi / 4.
#include <cppless/cppless.hpp>

#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <ranges>

#include "report.hpp"

int main(int argc, char** argv) {
  const example::arguments arguments(
      argc, argv, "Estimates pi by throwing darts.",
      {{"tasks", 64, "tasks, each with a seed of its own"}, {"darts", 4'000'000, "darts a task"}});
  const int tasks = arguments["tasks"], darts = arguments["darts"];

  auto hits = [=](int seed) {
    std::mt19937 random(seed);
    long inside = 0;
    for (int dart = 0; dart < darts; ++dart) {
      const double x = random() * 0x1p-32, y = random() * 0x1p-32;
      inside += x * x + y * y <= 1;
    }
    return inside;
  };

  example::race race;
  const long serial = race.serial([&] {
    long sum = 0;
    for (int seed = 0; seed < tasks; ++seed) sum += hits(seed);
    return sum;
  });

  const long parallel = race.parallel([&] {
    cppless::default_dispatcher dispatcher;
    cppless::instance workers = dispatcher.create_instance();
    const auto sums = cppless::map(workers, std::views::iota(0, tasks), hits);
    return std::reduce(sums.begin(), sums.end());
  });

  const double all = double(tasks) * darts, pi = 4 * parallel / all;
  std::printf("pi         %8.5f\n", pi);
  const double five_sigma = 5 * 1.65 / std::sqrt(all);
  return race.finish(parallel == serial && std::abs(pi - std::numbers::pi) < five_sigma);
}
