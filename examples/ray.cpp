// SPDX-License-Identifier: Apache-2.0
// A path tracer after the technique of "Ray Tracing in One Weekend" (P. Shirley). The picture is
// cut into tiles and each tile is a task. All tasks share the world: a hierarchy of polymorphic
// shapes and materials behind shared pointers, sent and rebuilt once in each worker. The serial and
// the parallel picture must be equal to the byte.
#include <cppless/cppless.hpp>

#include <fstream>

#include "ray/png.hpp"
#include "ray/scene.hpp"
#include "report.hpp"

struct picture {
  int width, height, samples;
};

struct tile {
  int left, top, right, bottom;
};

// The light that reaches the eye along the line.
ray::vec3 light(const ray::shape& world, ray::line l, ray::generator& random) {
  ray::vec3 sum, passed = {1, 1, 1};
  for (int depth = 0; depth < 40; ++depth) {
    ray::crossing hit;
    if (!world.find(l, hit)) return sum + passed * ray::sky(l.direction);
    sum += passed * hit.surface->glow();
    const auto bounce = hit.surface->scatter(l, hit, random);
    if (!bounce) break;
    passed = passed * bounce->tint;
    l = bounce->onward;
  }
  return sum;
}

png::rgb developed(const ray::vec3& colour) {
  const auto byte = [](double v) {
    return static_cast<std::uint8_t>(255.999 * std::sqrt(1 - std::exp(-1.2 * v)));
  };
  return {byte(colour.x), byte(colour.y), byte(colour.z)};
}

std::vector<png::rgb> paint(const ray::shape& world, const ray::camera& camera, const picture& p,
                            const tile& t) {
  std::vector<png::rgb> pixels;
  for (int y = t.top; y < t.bottom; ++y) {
    for (int x = t.left; x < t.right; ++x) {
      ray::generator random(y * p.width + x);
      ray::vec3 sum;
      for (int sample = 0; sample < p.samples; ++sample) {
        const double u = (x + random.number()) / p.width, v = (y + random.number()) / p.height;
        sum += light(world, camera.through(u, v, random), random);
      }
      pixels.push_back(developed(1.0 / p.samples * sum));
    }
  }
  return pixels;
}

std::vector<tile> tiles(const picture& p, int side) {
  std::vector<tile> all;
  for (int y = 0; y < p.height; y += side)
    for (int x = 0; x < p.width; x += side)
      all.push_back({x, y, std::min(x + side, p.width), std::min(y + side, p.height)});
  return all;
}

std::string assembled(const picture& p, const std::vector<tile>& tiles,
                      const std::vector<std::vector<png::rgb>>& parts) {
  std::vector<png::rgb> pixels(std::size_t(p.width) * p.height);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const tile& t = tiles[i];
    auto from = parts[i].begin();
    for (int y = t.top; y < t.bottom; ++y, from += t.right - t.left)
      std::copy_n(from, t.right - t.left, pixels.begin() + std::size_t(y) * p.width + t.left);
  }
  return png::encode(pixels, p.width);
}

int main(int argc, char** argv) {
  const example::arguments arguments(argc, argv, "Renders a picture in parallel.",
                                     {{"width", 480, "pixels from left to right"},
                                      {"height", 270, "pixels from top to bottom"},
                                      {"samples", 16, "light paths for a pixel"},
                                      {"tile", 32, "side of a tile in pixels"},
                                      {"shapes", 600, "small shapes in the scene"}},
                                     "[OUTPUT] (ray.png)");
  const picture p = {arguments["width"], arguments["height"], arguments["samples"]};
  const auto parts = tiles(p, arguments["tile"]);
  const auto world = cppless::shared(ray::sunflower(arguments["shapes"], 2024));
  const auto camera = ray::viewer(double(p.width) / p.height);
  auto paint_tile = [=](const tile& t) { return paint(**world, camera, p, t); };

  example::race race;
  const std::string serial = race.serial([&] {
    std::vector<std::vector<png::rgb>> painted;
    for (const tile& t : parts) painted.push_back(paint_tile(t));
    return assembled(p, parts, painted);
  });

  const std::string parallel = race.parallel([&] {
    cppless::default_dispatcher dispatcher;
    cppless::instance workers = dispatcher.create_instance();
    return assembled(p, parts, cppless::map(workers, parts, paint_tile));
  });

  const std::string path = arguments.files().empty() ? "ray.png" : arguments.files()[0];
  std::ofstream file(path, std::ios::binary);
  file << parallel;
  std::printf("picture    %s, %d x %d\n", path.c_str(), p.width, p.height);
  return race.finish(file.flush() && parallel == serial);
}
