// SPDX-License-Identifier: Apache-2.0
// Tasks that depend on tasks: the edit distance of two texts, tile by tile. A tile needs the last
// row of the one above and the last column of the one to its left, so the tiles of a diagonal run
// at once, and the front moves from corner to corner.
#include <cppless/cppless.hpp>

#include <algorithm>
#include <numeric>
#include <random>

#include "report.hpp"

// Distances along the lower and the right edge of a tile, corners included.
struct edges {
  std::vector<int> bottom, right;
};

edges fill_tile(const std::string& down, const std::string& across, std::vector<int> row,
                const std::vector<int>& left) {
  std::vector<int> right{row.back()};
  for (std::size_t y = 0; y < down.size(); ++y) {
    int diagonal = std::exchange(row[0], left[y + 1]);
    for (std::size_t x = 0; x < across.size(); ++x) {
      const int changed = diagonal + (down[y] == across[x] ? 0 : 1);
      diagonal = std::exchange(row[x + 1], std::min({changed, row[x] + 1, row[x + 1] + 1}));
    }
    right.push_back(row.back());
  }
  return {std::move(row), std::move(right)};
}

// first, first + 1, ...: what is above the first tiles and to their left.
std::vector<int> counted(std::size_t first, std::size_t length) {
  std::vector<int> edge(length + 1);
  std::iota(edge.begin(), edge.end(), static_cast<int>(first));
  return edge;
}

std::vector<std::string> cut(const std::string& text, std::size_t length) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += length) pieces.push_back(text.substr(at, length));
  return pieces;
}

std::string random_text(std::size_t length, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text(length, ' ');
  for (char& each : text) each = "ACGT"[random() / 16 % 4];
  return text;
}

template <class Executor>
int distance_by_tiles(const std::string& down, const std::string& across, std::size_t length) {
  cppless::graph::builder<Executor> builder{cppless::default_dispatcher()};
  const std::vector<std::string> rows = cut(down, length), columns = cut(across, length);
  std::vector<cppless::graph::sender<edges>> above;
  for (std::size_t x = 0; x < columns.size(); ++x) {
    above.push_back(just(builder, edges{counted(x * length, columns[x].size()), {}}));
  }
  for (std::size_t y = 0; y < rows.size(); ++y) {
    auto left = just(builder, edges{{}, counted(y * length, rows[y].size())});
    for (std::size_t x = 0; x < columns.size(); ++x) {
      const std::string row = rows[y], column = columns[x];
      left = then(above[x], left, [row, column](const edges& a, const edges& l) {
        return fill_tile(row, column, a.bottom, l.right);
      });
      above[x] = left;
    }
  }
  return above.back()->future().get().bottom.back();
}

int main(int argc, char** argv) {
  const example::arguments arguments(argc, argv, "Edit distance of two random texts.",
                                     {{"length", 30'000, "characters in each text"},
                                      {"tile", 3'000, "characters in a tile's side"},
                                      {"executor", 1, "1: this process starts tile by tile; 2: a "
                                                      "worker does"}});
  const std::string a = random_text(arguments["length"], 1), b = random_text(arguments["length"], 2);

  example::race race;
  const int serial = race.serial([&] {
    return fill_tile(a, b, counted(0, b.size()), counted(0, a.size())).bottom.back();
  });
  const int parallel = race.parallel([&] {
    using namespace cppless::graph;
    return arguments["executor"] == 1
               ? distance_by_tiles<host_controlled_executor>(a, b, arguments["tile"])
               : distance_by_tiles<delegating_executor<>>(a, b, arguments["tile"]);
  });
  std::printf("distance   %d\n", parallel);
  return race.finish(parallel == serial);
}
