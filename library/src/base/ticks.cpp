// SPDX-License-Identifier: Apache-2.0
#include "base/ticks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "base/file_descriptor.hpp"

namespace cppless::detail {
namespace {

// The kernel uses the counter only after checking that it runs evenly and alike on all cores.
bool kernel_trusts_counter() noexcept {
#if defined(__x86_64__)
  constexpr const char* path =
      "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  const file_descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  char name[16] = {};
  return ::read(file.get(), name, sizeof name - 1) > 0 && std::strcmp(name, "tsc\n") == 0;
#else
  return false;
#endif
}

}  // namespace

tick_clock::tick_clock() noexcept
    : is_counter_(kernel_trusts_counter()), begin_(read_both()) {}

// One moment on both: of a few tries that in which the least came in between.
tick_clock::moment tick_clock::read_both() const noexcept {
  moment best{};
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int tries = 0; tries < 4; ++tries) {
    const std::uint64_t before = now();
    const std::uint64_t ns = now_ns();
    const std::uint64_t took = now() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, ns};
  }
  return best;
}

void tick_clock::compare() noexcept {
  const moment now = read_both();
  if (now.ticks <= begin_.ticks) return;
  const std::uint64_t over = now.ticks - begin_.ticks;
  ns_per_tick_.store(static_cast<double>(now.ns - begin_.ns) / static_cast<double>(over),
                     std::memory_order_relaxed);
  compared_over_.store(over, std::memory_order_relaxed);
}

}  // namespace cppless::detail
