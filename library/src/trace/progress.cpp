// SPDX-License-Identifier: Apache-2.0
#include "trace/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace cppless::detail {
namespace {

using clock = std::chrono::steady_clock;

// Short runs show nothing; the line is refreshed at a pace that a person can read.
constexpr auto first_after = std::chrono::milliseconds(500);
constexpr auto refresh_every = std::chrono::milliseconds(100);

std::atomic<clock::rep> next_at{0};
std::atomic<bool> line_is_drawn{false};

// Whenever nothing is left to do, a new count begins: of the next map, say, from nothing.
std::atomic<std::uint64_t> counted_before{0};
std::atomic<clock::rep> count_began{0};

bool decide() noexcept {
  const char* const text = std::getenv("CPPLESS_PROGRESS");
  const std::string_view wish = text == nullptr ? "auto" : text;
  if (wish == "always") return true;
  return wish != "never" && ::isatty(STDERR_FILENO) == 1;
}

}  // namespace

bool progress_is_shown() noexcept {
  static const bool shown = decide();
  return shown;
}

clock::time_point next_progress() noexcept {
  clock::rep at = next_at.load(std::memory_order_relaxed);
  if (at == 0) {
    const auto now = clock::now();
    count_began.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    at = (now + first_after).time_since_epoch().count();
    next_at.store(at, std::memory_order_relaxed);
  }
  return clock::time_point(clock::duration(at));
}

void draw_progress(std::uint64_t finished, std::uint64_t tasks) noexcept {
  if (finished >= tasks) {
    clear_progress();
    counted_before.store(finished, std::memory_order_relaxed);
    next_at.store(0, std::memory_order_relaxed);
    return;
  }
  const auto now = clock::now();
  if (now < next_progress()) return;
  next_at.store((now + refresh_every).time_since_epoch().count(), std::memory_order_relaxed);
  const std::uint64_t before = std::min(finished, counted_before.load(std::memory_order_relaxed));
  finished -= before;
  tasks -= before;
  constexpr int width = 30;
  const int full = static_cast<int>(finished * width / tasks);
  char bar[width + 1];
  for (int at = 0; at < width; ++at) bar[at] = at < full ? '#' : '.';
  bar[width] = '\0';
  char left[32] = "";
  if (finished != 0) {
    const auto took = now - clock::time_point(clock::duration(count_began.load()));
    const double seconds = std::chrono::duration<double>(took).count() *
                           static_cast<double>(tasks - finished) / static_cast<double>(finished);
    std::snprintf(left, sizeof left, ", %.0f s left", seconds);
  }
  std::fprintf(stderr, "\r[%s] %" PRIu64 "/%" PRIu64 " tasks%s\x1b[K", bar, finished, tasks, left);
  line_is_drawn.store(true, std::memory_order_relaxed);
}

void clear_progress() noexcept {
  if (line_is_drawn.exchange(false, std::memory_order_relaxed)) {
    std::fputs("\r\x1b[K", stderr);
  }
}

}  // namespace cppless::detail
