// SPDX-License-Identifier: Apache-2.0
#include <cppless/map.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

using cppless::detail::chunk_ends;
using cppless::detail::from_highest;
using cppless::detail::parts_wanted;

namespace {

std::vector<std::size_t> sizes(const std::vector<double>& costs, unsigned workers,
                               std::size_t least = 1, std::size_t most = SIZE_MAX) {
  std::vector<std::size_t> ends = chunk_ends(costs, workers, least, most);
  std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
  return ends;
}

}  // namespace

TEST_CASE("Chunks become smaller, and hold as many elements as they are told") {
  using list = std::vector<std::size_t>;
  const std::vector<double> forty(40, 1.0);
  CHECK(sizes({}, 1) == list{});
  CHECK(sizes(forty, 1) == list{20, 10, 5, 3, 1, 1});
  CHECK(sizes(forty, 2) == list{10, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1});
  CHECK(sizes(forty, 1, 8) == list{20, 10, 8, 2});
  CHECK(sizes(forty, 1, 1, 16) == list{16, 12, 6, 3, 2, 1});
  CHECK(sizes(forty, 1, 8, 5) == list(8, 5));
  CHECK(sizes(forty, 1, 0, 0) == list(40, 1));
  CHECK(sizes(std::vector<double>(1'000'000, 1.0), 2).size() < 60);
}

TEST_CASE("Where costs are known chunks share them, not the elements") {
  using list = std::vector<std::size_t>;
  CHECK(sizes({8, 4, 2, 1, 1}, 1) == list{1, 1, 1, 1, 1});
  CHECK(sizes({1, 1, 1, 1, 4, 8}, 1) == list{5, 1});
  // Those that are no numbers above 0 count nothing; if all are, they count alike.
  CHECK(sizes({NAN, -3, 0, 2, 2}, 1) == list{4, 1});
  CHECK(sizes({0, 0, 0, 0}, 1) == list{2, 1, 1});
}

TEST_CASE("Elements are to be split until none is longer than an eighth of a worker's share") {
  CHECK(parts_wanted(100, 800, 1) == 1);
  CHECK(parts_wanted(101, 800, 1) == 2);
  CHECK(parts_wanted(800, 800, 4) == 32);
  CHECK(parts_wanted(-1, 800, 4) == 0);
  CHECK(parts_wanted(NAN, 800, 4) == 0);
  CHECK(parts_wanted(5, 0, 4) == 0);
  CHECK(parts_wanted(1, 1, 4'000'000'000u) == 65536);
}

TEST_CASE("Costs are ordered from the highest, equal ones as they were") {
  CHECK(from_highest({3, 9, 1, 9, 5}) == std::vector<std::size_t>{1, 3, 4, 0, 2});
}
