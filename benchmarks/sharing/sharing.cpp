// SPDX-License-Identifier: Apache-2.0
/// What a large value costs the host that many tasks read, captured or shared: the ray tracer's world
/// with 600 x 600 pixels in 2 to 1,024 tiles (the thesis, 5.6.2: 40 % of the host's time went into
/// sending it).
///   tiles/N/encode   time of the dispatching thread for each task
///   tiles/N/share    that time, of the time until the picture is there
///   tiles/N/bytes    what is encoded for each task, and of a shared world its part of the one copy

#include <cppless/cppless.hpp>

#include "harness.hpp"

// The example's functions are what is measured; only its main is not wanted.
#define main ray_example
#include "../../examples/ray.cpp"
#undef main

namespace {

constexpr picture p = {600, 600, 1};
constexpr unsigned workers = 2;

using pixels = std::vector<std::vector<png::rgb>>;

struct sample {
  double encode_us = 0;
  double total_us = 0;
  pixels result;
};

template <class Paint>
sample render(cppless::instance& on, const std::vector<tile>& parts, const Paint& paint_tile) {
  sample taken;
  taken.total_us = bench::microseconds([&] {
    std::vector<cppless::future<std::vector<png::rgb>>> futures;
    taken.encode_us = bench::microseconds([&] {
      for (const tile& t : parts) futures.push_back(cppless::async(on, paint_tile, t));
    });
    for (auto& each : futures) taken.result.push_back(each.get());
  });
  return taken;
}

template <class T>
double encoded_size(const T& value) {
  return static_cast<double>(cppless::binary_archive::serialize(value).size());
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("sharing", argc, argv);
  const auto world = std::shared_ptr<const ray::shape>(ray::sunflower(600, 2024));
  const auto camera = ray::viewer(1);
  cppless::instance instance = cppless::local_dispatcher({.workers = workers}).create_instance();
  const auto captures = [=](const tile& t) { return paint(*world, camera, p, t); };

  for (const int side : {425, 150, 75, 38, 19}) {
    const auto parts = tiles(p, side);
    const std::string name = "tiles/" + std::to_string(parts.size());
    if (!suite.wants(name)) continue;
    pixels expected;
    for (const tile& t : parts) expected.push_back(captures(t));
    sample captured, sharing;
    const auto with_captured = [&] { captured = render(instance, parts, captures); };
    // A new value each time: that its one copy is made is part of what it costs.
    const auto with_shared = [&] {
      const auto shared = cppless::shared(world);
      sharing = render(instance, parts, [=](const tile& t) { return paint(**shared, camera, p, t); });
    };
    const auto per_task = [&](const sample& of) {
      return of.encode_us / static_cast<double>(parts.size());
    };
    suite.compare(name + "/encode", bench::unit::us, "captured",
                  {{"captured", [&] { return with_captured(), per_task(captured); },
                    [&] { return captured.result == expected; }},
                   {"shared", [&] { return with_shared(), per_task(sharing); },
                    [&] { return sharing.result == expected; }}});
    suite.compare(name + "/share", {"%"}, "captured",
                  {{"captured", [&] { return with_captured(), 100 * captured.encode_us / captured.total_us; }},
                   {"shared", [&] { return with_shared(), 100 * sharing.encode_us / sharing.total_us; }}});
    const double once = encoded_size(world);
    const double reference = 34;  // docs/formats/values.md
    suite.record(name + "/bytes", "captured", bench::unit::bytes_per_task, {once});
    suite.record(name + "/bytes", "shared", bench::unit::bytes_per_task,
                 {reference + once / static_cast<double>(parts.size())});
  }
  return suite.finish();
}
