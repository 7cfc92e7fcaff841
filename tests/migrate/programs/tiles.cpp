// Tiles that wait for their neighbours, as in the seed's alignment: futures as dependencies.
// OUT: longest common subsequence: 42
#include <algorithm>
#include <future>
#include <iostream>
#include <string>
#include <vector>

constexpr int tile = 8;
constexpr int tiles = 6;
constexpr int size = tile * tiles;

int cells[size + 1][size + 1];

void fill(const std::string& a, const std::string& b, int row, int column) {
  for (int i = row * tile + 1; i <= (row + 1) * tile; ++i) {
    for (int j = column * tile + 1; j <= (column + 1) * tile; ++j) {
      cells[i][j] = a[i - 1] == b[j - 1] ? cells[i - 1][j - 1] + 1
                                         : std::max(cells[i - 1][j], cells[i][j - 1]);
    }
  }
}

int main() {
  std::string a, b;
  for (int i = 0; i < size; ++i) {
    a += "ACGT"[(i * 7 + i / 5) % 4];
    b += "ACGT"[(i * 3 + i / 7) % 4];
  }
  std::vector<std::vector<std::shared_future<void>>> done(tiles, std::vector<std::shared_future<void>>(tiles));
  for (int row = 0; row < tiles; ++row) {
    for (int column = 0; column < tiles; ++column) {
      std::shared_future<void> above = row > 0 ? done[row - 1][column] : std::shared_future<void>();
      std::shared_future<void> left = column > 0 ? done[row][column - 1] : std::shared_future<void>();
      done[row][column] = std::async(std::launch::async, [&, row, column, above, left] {
        if (above.valid()) above.wait();
        if (left.valid()) left.wait();
        fill(a, b, row, column);
      }).share();
    }
  }
  done[tiles - 1][tiles - 1].get();
  std::cout << "longest common subsequence: " << cells[size][size] << "\n";
}
