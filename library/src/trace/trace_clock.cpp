// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_clock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace cppless::detail {
namespace {

// Long enough to know the tick's length to a hundredth of a percent.
constexpr auto first_look = std::chrono::milliseconds(1);

}  // namespace

trace_clock::trace_clock() noexcept : begin_(tick_clock::get().read_both()), latest_(begin_.ticks) {
  wall_ns_ = detail::wall_ns();
  std::this_thread::sleep_for(first_look);
  const tick_clock::moment now = tick_clock::get().read_both();
  compared_over_ = now.ticks - begin_.ticks;
  pieces_[count_++] = {begin_.ticks, 0.0, static_cast<double>(now.ns - begin_.ns) /
                                              static_cast<double>(compared_over_)};
}

double trace_clock::convert(std::uint64_t ticks) const noexcept {
  std::size_t at = count_ - 1;
  while (at != 0 && pieces_[at].ticks > ticks) --at;
  const piece& in = pieces_[at];
  return ticks <= in.ticks ? in.ns
                           : in.ns + static_cast<double>(ticks - in.ticks) * in.ns_per_tick;
}

// From the last converted moment on, so that it leads to what the clock says now.
void trace_clock::refine() noexcept {
  const tick_clock::moment now = tick_clock::get().read_both();
  if (count_ == pieces_.size() || now.ticks - begin_.ticks <= 2 * compared_over_) return;
  compared_over_ = now.ticks - begin_.ticks;
  const double overall =
      static_cast<double>(now.ns - begin_.ns) / static_cast<double>(compared_over_);
  const double reached = convert(latest_);
  double length = overall;
  if (now.ticks > latest_) {
    length = (static_cast<double>(now.ns - begin_.ns) - reached) /
             static_cast<double>(now.ticks - latest_);
  }
  // Where hardly any time is left to make up for an error, it is kept.
  if (length < 0.9 * overall || length > 1.1 * overall) length = overall;
  pieces_[count_++] = {latest_, reached, length};
}

void trace_clock::to_ns(std::span<std::uint64_t> ticks) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = tick_clock::get().now();
  if (now - begin_.ticks > 2 * compared_over_) refine();
  for (std::uint64_t& each : ticks) {
    if (each == 0) continue;
    each = std::min(each, now);  // another process may write anything
    latest_ = std::max(latest_, each);
    each = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(convert(each)));
  }
}

}  // namespace cppless::detail
