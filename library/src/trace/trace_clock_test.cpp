// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace {

using cppless::detail::now_ns;
using cppless::detail::ticks;
using cppless::detail::trace_clock;

TEST_CASE("what was later in ticks is never earlier on the trace's clock, in whatever order it comes") {
  trace_clock clock;
  std::vector<std::uint64_t> moments;
  std::vector<std::uint64_t> converted;
  for (int round = 0; round < 8; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1 << round));
    for (int i = 0; i < 100; ++i) moments.push_back(ticks());
    // The newest first: so do spans come that end before others which began earlier.
    std::vector<std::uint64_t> now(moments.rbegin(), moments.rbegin() + 50);
    clock.to_ns(now);
    std::vector<std::uint64_t> all = moments;
    clock.to_ns(all);
    CHECK(std::is_sorted(all.begin(), all.end()));
    for (std::size_t i = 0; i < converted.size(); ++i) CHECK(all[i] == converted[i]);
    CHECK(all.back() == now.front());
    converted = all;
  }
}

TEST_CASE("the trace's clock goes with the machine's") {
  trace_clock clock;
  const std::uint64_t begin_ns = now_ns();
  std::uint64_t begin[] = {ticks()};
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::uint64_t end[] = {ticks()};
  const std::uint64_t took_ns = now_ns() - begin_ns;
  clock.to_ns(begin);
  clock.to_ns(end);
  // Not how long it slept, but that both clocks say the same of it, to a part in a hundred.
  CHECK(end[0] - begin[0] <= took_ns + took_ns / 100);
  CHECK(end[0] - begin[0] >= 49'000'000);
}

TEST_CASE("no time and times that cannot be do not confuse the trace's clock") {
  trace_clock clock;
  std::uint64_t odd[] = {0, 1, ~std::uint64_t{0}};
  clock.to_ns(odd);
  CHECK(odd[0] == 0);
  CHECK(odd[1] == 1);
  std::uint64_t later[] = {ticks()};
  clock.to_ns(later);
  CHECK(odd[2] <= later[0]);
  CHECK(later[0] < 60'000'000'000);
}

}  // namespace
