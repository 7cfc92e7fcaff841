// SPDX-License-Identifier: Apache-2.0
/// Sixteen tiles of the ray tracer's picture: those of the sky take a fraction of those of the glass.
/// What each costs is estimated by painting it with a twentieth of the light paths.

#include "makespan.hpp"

// The example's functions are what is measured; only its main is not wanted.
#define main ray_example
#include "../../examples/ray.cpp"
#undef main

int main(int argc, char** argv) {
  bench::suite suite("balance_ray", argc, argv);
  const picture p = {240, 240, 20};
  const picture rough = {240, 240, 1};
  const auto world = cppless::shared(ray::sunflower(600, 2024));
  const auto camera = ray::viewer(1);
  std::vector<double> costs;
  const auto parts = tiles(p, 60);
  for (const tile& t : parts) costs.push_back(bench::seconds([&] { paint(**world, camera, rough, t); }));
  std::vector<int> numbers(parts.size());
  for (std::size_t at = 0; at < numbers.size(); ++at) numbers[at] = static_cast<int>(at);
  // The pixels as text, so that they can be compared.
  const auto paint_tile = [=](int number) {
    std::string text;
    for (const auto& pixel : paint(**world, camera, p, parts[static_cast<std::size_t>(number)])) {
      text.append(reinterpret_cast<const char*>(&pixel), sizeof pixel);
    }
    return text;
  };
  bench::compare_makespan(suite, numbers, paint_tile,
                          [&](int number) { return costs[static_cast<std::size_t>(number)]; });
  return suite.finish();
}
