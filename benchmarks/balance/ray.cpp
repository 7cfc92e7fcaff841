// SPDX-License-Identifier: Apache-2.0
/// Sixteen tiles of the ray tracer's picture: those of the sky take a fraction of those of the glass.
/// What each costs is estimated by painting it with a twentieth of the light paths.

#include <algorithm>
#include <numeric>

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
  // The pixels as text, so that they can be compared.
  const auto paint_tile = [=](const tile& t) {
    std::string text;
    for (const auto& pixel : paint(**world, camera, p, t)) {
      text.append(reinterpret_cast<const char*>(&pixel), sizeof pixel);
    }
    return text;
  };
  const auto area = [](const tile& t) { return double(t.right - t.left) * (t.bottom - t.top); };
  // A part of a tile costs its share of the tile's area.
  const auto cost = [&](const tile& t) {
    double sum = 0;
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const tile& whole = parts[at];
      const bool is_inside = t.left >= whole.left && t.right <= whole.right && t.top >= whole.top &&
                             t.bottom <= whole.bottom;
      if (is_inside) sum = costs[at] * area(t) / area(whole);
    }
    return sum;
  };
  const auto strips = [](const tile& t, std::size_t count) {
    std::vector<tile> made;
    const int height = std::max(1, (t.bottom - t.top) / static_cast<int>(count));
    for (int top = t.top; top < t.bottom; top += height) {
      made.push_back({t.left, top, t.right, std::min(top + height, t.bottom)});
    }
    return made;
  };
  const auto join = [](const std::vector<std::string>& rows) {
    return std::accumulate(rows.begin(), rows.end(), std::string());
  };
  bench::compare_makespan(suite, parts, paint_tile, cost, strips, join);
  return suite.finish();
}
