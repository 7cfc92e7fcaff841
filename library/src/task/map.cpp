// SPDX-License-Identifier: Apache-2.0
#include <cppless/map.hpp>

#include <algorithm>
#include <compare>
#include <numeric>

namespace cppless::detail {

std::vector<std::size_t> from_highest(const std::vector<double>& costs) {
  std::vector<std::size_t> places(costs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const auto order = std::strong_order(costs[b], costs[a]);  // an order even where a cost is NaN
    return order < 0 || (order == 0 && a < b);
  });
  return places;
}

}  // namespace cppless::detail
