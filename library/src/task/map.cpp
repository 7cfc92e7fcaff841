// SPDX-License-Identifier: Apache-2.0
#include <cppless/map.hpp>

#include <algorithm>
#include <numeric>

namespace cppless::detail {

std::vector<std::size_t> from_highest(const std::vector<double>& costs) {
  std::vector<std::size_t> places(costs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return costs[b] < costs[a]; });
  return places;
}

}  // namespace cppless::detail
