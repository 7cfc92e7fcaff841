// SPDX-License-Identifier: Apache-2.0
/// The path tracer: each task carries the whole world (a hierarchy of polymorphic shapes behind
/// shared pointers) and returns a tile of pixels. `std::thread` shares the world in memory, so this
/// shows what sending it costs.

#include "split.hpp"

// The example's functions are what is measured; only its main is not wanted.
#define main ray_example
#include "../../examples/ray.cpp"
#undef main

int main(int argc, char** argv) {
  bench::suite suite("scaling_ray", argc, argv);
  const picture p = {480, 270, 4};
  const auto world = ray::sunflower(600, 2024);
  const auto camera = ray::viewer(double(p.width) / p.height);
  // The pixels as text, so that they can be compared.
  bench::compare_scaling(suite, tiles(p, 32), [=](const tile& t) {
    std::string text;
    for (const auto& pixel : paint(*world, camera, p, t)) {
      text.append(reinterpret_cast<const char*>(&pixel), sizeof pixel);
    }
    return text;
  });
  return suite.finish();
}
