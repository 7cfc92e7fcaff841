// SPDX-License-Identifier: Apache-2.0
// The picture: spheres and blocks laid out like the seeds of a sunflower around three large
// ones, in the evening. The same seed gives the same scene.
#pragma once

#include "camera.hpp"
#include "shapes.hpp"

namespace ray {

inline vec3 hue(double turn) {
  const auto wave = [=](double shift) {
    return 0.5 + 0.5 * std::cos(2 * std::numbers::pi * (turn + shift));
  };
  return {wave(0), wave(-1.0 / 3), wave(1.0 / 3)};
}

inline std::shared_ptr<material> any_material(double turn, generator& random) {
  const vec3 colour = mix(hue(turn), {0.9, 0.8, 0.7}, 0.2);
  const double kind = random.number();
  if (kind < 0.58) return std::make_shared<matte>(0.9 * colour);
  const vec3 white = {1, 1, 1};
  if (kind < 0.80) return std::make_shared<metal>(mix(colour, white, 0.4), random.number(0, 0.3));
  if (kind < 0.94) return std::make_shared<glass>(mix(colour, white, 0.8), 1.5);
  return std::make_shared<lamp>(1.2 * mix(colour, {1, 0.7, 0.3}, 0.5));
}

inline std::shared_ptr<shape> sunflower(int seeds, std::uint64_t seed) {
  generator random(seed);
  std::vector<std::shared_ptr<shape>> shapes;

  const auto light = std::make_shared<matte>(vec3{0.30, 0.30, 0.34});
  const auto dark = std::make_shared<metal>(vec3{0.22, 0.22, 0.28}, 0.15);
  shapes.push_back(std::make_shared<sphere>(vec3{0, -2000, 0}, 2000,
                                            std::make_shared<checker>(light, dark, 1.0)));

  const auto clear = std::make_shared<glass>(vec3{1, 1, 1}, 1.5);
  const auto gold = std::make_shared<metal>(vec3{0.95, 0.72, 0.38}, 0.02);
  const auto silver = std::make_shared<metal>(vec3{0.92, 0.93, 0.96}, 0.0);
  shapes.push_back(std::make_shared<sphere>(vec3{0, 1.3, 0}, 1.3, clear));
  shapes.push_back(std::make_shared<sphere>(vec3{-2.7, 1.0, -1.6}, 1.0, gold));
  shapes.push_back(std::make_shared<sphere>(vec3{2.6, 1.1, -1.4}, 1.1, silver));

  const double golden_angle = std::numbers::pi * (3 - std::sqrt(5.0));
  for (int i = 0; i < seeds; ++i) {
    const double angle = i * golden_angle, radius = 0.33 * std::sqrt(i + 90.0);
    const double size = random.number(0.13, 0.25);
    const vec3 foot = {radius * std::cos(angle), 0, radius * std::sin(angle)};
    const double turn = angle / (2 * std::numbers::pi) + random.number(0, 0.1);
    const auto surface = any_material(turn, random);
    if (random.number() < 0.75) {
      shapes.push_back(std::make_shared<sphere>(foot + vec3{0, size, 0}, size, surface));
    } else {
      const vec3 half = {0.8 * size, 0, 0.8 * size};
      const vec3 top = {0, random.number(1, 3) * size, 0};
      shapes.push_back(std::make_shared<block>(box{foot - half, foot + half + top}, surface));
    }
  }
  return hierarchy(shapes);
}

// A low sun behind the viewer's left shoulder, in a sky from amber to blue.
inline vec3 sky(const vec3& direction) {
  const vec3 d = unit(direction);
  const double sun = std::max(0.0, dot(d, unit({-0.6, 0.35, 0.7})));
  const vec3 air = mix({1.0, 0.50, 0.26}, {0.14, 0.34, 0.85}, std::cbrt(std::max(0.0, d.y)));
  return air + std::pow(sun, 60) * vec3{7, 5, 3};
}

inline camera viewer(double aspect) {
  return camera({0, 4.0, 14}, {0, 1.0, 0}, 27 * std::numbers::pi / 180, aspect, 0.07);
}

}  // namespace ray
