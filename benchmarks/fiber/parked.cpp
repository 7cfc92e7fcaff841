// SPDX-License-Identifier: Apache-2.0
/// A million fibers that wait at once: what each takes of memory, and of time.

#include <cstdio>
#include <string>
#include <vector>

#include <cppless/fiber.hpp>

#include "fiber/memory.hpp"
#include "fiber/units.hpp"

namespace {

using namespace bench;
namespace fiber = cppless::fiber;

struct measurement {
  double bytes_each = 0, ns_to_park = 0, ns_to_wake = 0;
  bool is_right = false;
};

measurement park(std::size_t count, std::size_t stack_size) {
  fiber::runtime runtime({.workers = 1, .stack_size = stack_size});
  return runtime.run([count] {
    measurement got;
    fiber::promise<long> promise;
    const fiber::shared_future<long> awaited = promise.get_future();
    std::vector<fiber::future<long>> futures;
    futures.reserve(count);
    const double before = resident_bytes();
    std::size_t waiting = 0;
    fiber::promise<void> all_wait;
    got.ns_to_park = seconds([&] {
      for (std::size_t i = 0; i < count; ++i) {
        futures.push_back(fiber::async([&] {
          if (++waiting == count) all_wait.set_value();
          return awaited.get();
        }));
      }
      auto parked = all_wait.get_future();
      parked.wait();
    }) * 1e9 / static_cast<double>(count);
    got.bytes_each = (resident_bytes() - before) / static_cast<double>(count);
    long sum = 0;
    got.ns_to_wake = seconds([&] {
      promise.set_value(2);
      for (auto& each : futures) sum += each.get();
    }) * 1e9 / static_cast<double>(count);
    got.is_right = sum == static_cast<long>(2 * count);
    return got;
  });
}

}  // namespace

int main(int argc, char** argv) {
  suite suite{"fiber_parked", argc, argv};
  for (const std::size_t kib : {16, 64, 256}) {
    const std::string name = "a million/" + std::to_string(kib) + " KiB stacks";
    if (!suite.wants(name)) continue;
    const measurement got = park(1'000'000, kib * 1024);
    suite.record(name, "memory", unit::bytes_per_task, {got.bytes_each}, got.is_right);
    suite.record(name, "to make and park", unit::ns_per_task, {got.ns_to_park}, got.is_right);
    suite.record(name, "to wake and end", unit::ns_per_task, {got.ns_to_wake}, got.is_right);
  }
  return suite.finish();
}
