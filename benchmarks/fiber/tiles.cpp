// SPDX-License-Identifier: Apache-2.0
/// Smith-Waterman local alignment in tiles, each a task that waits for the futures of its left and
/// its upper neighbour, on the slides' 552 and 2,208 tiles. All implementations call the same
/// function for a tile; the serial one calls it in a loop.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <cppless/fiber.hpp>

#ifdef BENCH_ONETBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#endif

#include "fiber/units.hpp"

namespace {

using namespace bench;
namespace fiber = cppless::fiber;

/// Two sequences cut into tiles. Only the edges between tiles are kept: the lowest row of each, its
/// right column and its corner.
class alignment {
 public:
  alignment(int rows, int columns)
      : rows_(rows), columns_(columns), first_(letters(length, 1)), second_(letters(length, 2)) {
    reset();
  }

  int rows() const { return rows_; }
  int columns() const { return columns_; }

  void reset() {
    below_.assign(static_cast<std::size_t>(length), 0);
    right_.assign(static_cast<std::size_t>(length), 0);
    corners_.assign(static_cast<std::size_t>((rows_ + 1) * (columns_ + 1)), 0);
    best_.assign(static_cast<std::size_t>(rows_ * columns_), 0);
  }

  int best() const { return *std::max_element(best_.begin(), best_.end()); }

  /// After its left and its upper neighbour. Not inlined: it must be the same code for all.
  [[gnu::noinline]] void compute(int row, int column) {
    constexpr int match = 3, mismatch = -3, gap = -2;
    const int top = begin_of(row, rows_), bottom = begin_of(row + 1, rows_);
    const int left = begin_of(column, columns_), right = begin_of(column + 1, columns_);
    int diagonal_of_row = corner(row, column);
    int best = 0;
    for (int i = top; i < bottom; ++i) {
      int diagonal = diagonal_of_row;
      int before = right_[static_cast<std::size_t>(i)];
      diagonal_of_row = before;
      const char letter = first_[static_cast<std::size_t>(i)];
      for (int k = left; k < right; ++k) {
        int& above = below_[static_cast<std::size_t>(k)];
        const int with = diagonal + (second_[static_cast<std::size_t>(k)] == letter ? match
                                                                                    : mismatch);
        diagonal = above;
        before = std::max({0, with, before + gap, above + gap});
        above = before;
        best = std::max(best, before);
      }
      right_[static_cast<std::size_t>(i)] = before;
    }
    corner(row + 1, column + 1) = below_[static_cast<std::size_t>(right - 1)];
    best_[static_cast<std::size_t>(row * columns_ + column)] = best;
  }

 private:
  static constexpr int length = 11'040;  // a multiple of all numbers of rows and columns

  static std::string letters(int count, std::uint32_t seed) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      seed = seed * 1664525 + 1013904223;
      text += "ACGT"[seed >> 30];
    }
    return text;
  }
  static int begin_of(int tile, int tiles) { return length / tiles * tile; }
  int& corner(int row, int column) {
    return corners_[static_cast<std::size_t>(row * (columns_ + 1) + column)];
  }

  const int rows_, columns_;
  const std::string first_, second_;
  std::vector<int> below_, right_, corners_, best_;
};

void serially(alignment& of) {
  for (int row = 0; row < of.rows(); ++row) {
    for (int column = 0; column < of.columns(); ++column) of.compute(row, column);
  }
}

/// With any kind of shared futures of nothing.
template <class Future, class Async>
void with_futures(alignment& of, Async async) {
  std::vector<Future> done(static_cast<std::size_t>(of.rows() * of.columns()));
  const auto at = [&](int row, int column) -> Future& {
    return done[static_cast<std::size_t>(row * of.columns() + column)];
  };
  for (int row = 0; row < of.rows(); ++row) {
    for (int column = 0; column < of.columns(); ++column) {
      Future left = column > 0 ? at(row, column - 1) : Future();
      Future above = row > 0 ? at(row - 1, column) : Future();
      at(row, column) = async([&of, row, column, left, above] {
        if (left.valid()) left.wait();
        if (above.valid()) above.wait();
        of.compute(row, column);
      });
    }
  }
  done.back().wait();
}

void with_fibers(alignment& of) {
  with_futures<fiber::shared_future<void>>(of, [](auto function) -> fiber::shared_future<void> {
    return fiber::async(std::move(function));
  });
}

void with_std_async(alignment& of) {
  with_futures<std::shared_future<void>>(of, [](auto function) -> std::shared_future<void> {
    return std::async(std::launch::async, std::move(function));
  });
}

#ifdef BENCH_ONETBB
/// A task is run when both neighbours have counted down to it.
struct wavefront {
  alignment& of;
  tbb::task_group group;
  std::unique_ptr<std::atomic<int>[]> missing =
      std::make_unique<std::atomic<int>[]>(static_cast<std::size_t>(of.rows() * of.columns()));

  void run(int row, int column) {
    of.compute(row, column);
    ready(row, column + 1);
    ready(row + 1, column);
  }
  void ready(int row, int column) {
    if (row == of.rows() || column == of.columns()) return;
    if (missing[static_cast<std::size_t>(row * of.columns() + column)].fetch_sub(1) == 1) {
      group.run([this, row, column] { run(row, column); });
    }
  }
  void all() {
    for (int row = 0; row < of.rows(); ++row) {
      for (int column = 0; column < of.columns(); ++column) {
        missing[static_cast<std::size_t>(row * of.columns() + column)] = (row > 0) + (column > 0);
      }
    }
    group.run_and_wait([this] { run(0, 0); });
  }
};

double with_onetbb(alignment& of, unsigned workers) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  tbb::task_arena arena(static_cast<int>(workers));
  double took = 0;
  arena.execute([&] { took = seconds([&] { wavefront{of, {}}.all(); }); });
  return took;
}
#endif

/// Milliseconds of one of them, with its result compared to `best`.
template <class Work>
implementation aligned(std::string name, std::shared_ptr<alignment> of, int best, Work work) {
  return {std::move(name),
          [=] {
            of->reset();
            return work(*of) * 1e3;
          },
          [=] { return of->best() == best; }};
}

}  // namespace

int main(int argc, char** argv) {
  suite suite{"fiber_tiles", argc, argv};
  for (const auto& [rows, columns] : {std::pair{23, 24}, std::pair{46, 48}}) {
    const auto of = std::make_shared<alignment>(rows, columns);
    serially(*of);
    const int best = of->best();
    for (const unsigned workers : {1U, 2U}) {
      std::vector<implementation> all = {
          aligned("serial", of, best,
                  [](alignment& each) { return seconds([&] { serially(each); }); }),
          aligned("cppless", of, best, [workers](alignment& each) {
            fiber::runtime runtime(workers);
            return seconds([&] { runtime.run([&] { with_fibers(each); }); });
          })};
      if (workers == 2) {
        const auto another = std::make_shared<alignment>(*of);
        all.push_back(aligned("floor: two serial at once, the half", of, best,
                              [another](alignment& each) {
                                another->reset();
                                return seconds_of_both([&] { serially(each); },
                                                       [&] { serially(*another); }) /
                                       2;
                              }));
      }
#ifdef BENCH_ONETBB
      all.push_back(aligned("oneTBB", of, best,
                            [workers](alignment& each) { return with_onetbb(each, workers); }));
#endif
      if (workers == 2) {  // it takes all cores there are
        all.push_back(aligned("std::async", of, best, [](alignment& each) {
          return seconds([&] { with_std_async(each); });
        }));
      }
      suite.compare("tiles/" + std::to_string(rows * columns) + "/" + std::to_string(workers),
                    unit::ms, "serial", std::move(all));
    }
  }
  return suite.finish();
}
