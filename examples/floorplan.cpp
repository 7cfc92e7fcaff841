// SPDX-License-Identifier: Apache-2.0
// Places the cells of a chip so that their bounding box is smallest. Each cell comes in some shapes
// and must touch a certain earlier cell, on its right or below it. Branch and bound: the host
// places the first cells, each placing is a prefix, and a task searches what follows from it. All
// searches prune with the smallest area that any of them has found: a shared variable.
#include <cppless/cppless.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "report.hpp"

struct shape {
  int width, height;
};

struct cell {
  std::vector<shape> shapes;
  int neighbour;  // the earlier cell that it touches
  bool below;     // that cell's lower side, not its right one
};

struct rectangle {
  int left, top, width, height;

  int right() const { return left + width; }
  int bottom() const { return top + height; }
  bool overlaps(const rectangle& o) const {
    return left < o.right() && o.left < right() && top < o.bottom() && o.top < bottom();
  }
};

// Where the cells are, from the first one on; perhaps not yet all.
using plan = std::vector<rectangle>;

struct solution {
  int area;
  plan cells;
};

int area(const plan& p) {
  int right = 0, bottom = 0;
  for (const rectangle& r : p) {
    right = std::max(right, r.right());
    bottom = std::max(bottom, r.bottom());
  }
  return right * bottom;
}

std::vector<cell> generate_cells(int count, int seed) {
  std::mt19937 random(seed);
  const auto number = [&](int low, int high) { return low + int(random() % (high - low + 1)); };
  std::vector<cell> cells;
  for (int i = 0; i < count; ++i) {
    const int width = number(2, 6), height = number(2, 6);
    cell c{{{width, height}}, i == 0 ? 0 : number(std::max(0, i - 4), i - 1), number(0, 1) == 1};
    if (width != height) c.shapes.push_back({height, width});
    if (width % 2 == 0) c.shapes.push_back({width / 2, height * 2});
    cells.push_back(c);
  }
  return cells;
}

// Calls `visit` for each way to place the next cell, with that cell added to `p` for the while.
template <class Visit>
void place_cell(const std::vector<cell>& cells, plan& p, Visit visit) {
  const cell& c = cells[p.size()];
  const rectangle near = p.empty() ? rectangle{} : p[c.neighbour];
  for (const shape& s : c.shapes) {
    // It slides along the neighbour's side, from corner to corner.
    const int from = c.below ? near.left - s.width + 1 : near.top - s.height + 1;
    const int to = p.empty() ? 0 : c.below ? near.right() - 1 : near.bottom() - 1;
    for (int at = std::max(0, from); at <= to; ++at) {
      const rectangle r = c.below ? rectangle{at, near.bottom(), s.width, s.height}
                                  : rectangle{near.right(), at, s.width, s.height};
      if (std::ranges::any_of(p, [&](const rectangle& o) { return r.overlaps(o); })) continue;
      p.push_back(r);
      visit();
      p.pop_back();
    }
  }
}

// Finds plans smaller than `best.limit()`, and tells `best` of each.
template <class Best>
void search(const std::vector<cell>& cells, plan& p, Best& best) {
  const int used = area(p);
  if (used >= best.limit()) return;
  if (p.size() == cells.size())
    best.found({used, p});
  else
    place_cell(cells, p, [&] { search(cells, p, best); });
}

// As long as only one searches.
struct own_best {
  solution smallest;
  int limit() const { return smallest.area; }
  void found(const solution& s) { smallest = s; }
};

// The smallest area that is known, and which task has a plan of that.
struct record {
  int area, task;
};

struct smaller {
  static constexpr bool is_repeatable = true;
  static record merge(record value, record update) {
    return std::tie(update.area, update.task) < std::tie(value.area, value.task) ? update : value;
  }
};

// A task that died after it had set the record is started again: it must find that plan once more.
struct common_best {
  cppless::shared_variable<record, smaller> known;
  int task;
  solution own = {};
  int limit() const {
    const record r = known.get();
    return r.task == task && own.cells.empty() ? r.area + 1 : r.area;
  }
  void found(const solution& s) {
    own = s;
    known.update({s.area, task});
  }
};

// A plan to start from: adds each cell where the bounding box grows least, and goes back where one
// has no place. False if there is no plan at all.
bool complete(const std::vector<cell>& cells, plan& p) {
  if (p.size() == cells.size()) return true;
  std::vector<plan> next;
  place_cell(cells, p, [&] { next.push_back(p); });
  std::ranges::sort(next, {}, area);
  for (plan& each : next) {
    if (!complete(cells, each)) continue;
    p = each;
    return true;
  }
  return false;
}

solution first_solution(const std::vector<cell>& cells) {
  plan p;
  if (!complete(cells, p)) throw std::runtime_error("these cells have no plan");
  return {area(p), p};
}

void add_prefixes(const std::vector<cell>& cells, plan& p, std::size_t length,
                  std::vector<plan>& prefixes) {
  if (p.size() == length)
    prefixes.push_back(p);
  else
    place_cell(cells, p, [&] { add_prefixes(cells, p, length, prefixes); });
}

// The ways to place the first cells, the smallest first.
std::vector<plan> all_prefixes(const std::vector<cell>& cells, int length) {
  plan empty;
  std::vector<plan> prefixes;
  add_prefixes(cells, empty, length, prefixes);
  std::ranges::sort(prefixes, {}, area);
  return prefixes;
}

solution serial_search(const std::vector<cell>& cells, int length) {
  own_best best = {first_solution(cells)};
  for (plan& prefix : all_prefixes(cells, length)) search(cells, prefix, best);
  return best.smallest;
}

solution parallel_search(const std::vector<cell>& cells, int length) {
  cppless::default_dispatcher dispatcher;
  cppless::instance workers = dispatcher.create_instance();
  const solution first = first_solution(cells);
  const cppless::shared_variable<record, smaller> best({first.area, -1});
  const auto prefixes = cppless::shared(all_prefixes(cells, length));
  std::vector<int> tasks(prefixes->size());
  std::iota(tasks.begin(), tasks.end(), 0);
  const auto found = cppless::map(workers, tasks, [=](int task) {
    common_best mine = {best, task};
    plan prefix = (*prefixes)[task];
    search(cells, prefix, mine);
    return mine.own;
  });
  return best.get().task < 0 ? first : found[best.get().task];
}

// Whether all cells are placed in one of their shapes, apart from each other.
bool is_valid(const std::vector<cell>& cells, const solution& s) {
  if (s.cells.size() != cells.size() || area(s.cells) != s.area) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const rectangle& r = s.cells[i];
    const auto fits = [&](const shape& s) { return s.width == r.width && s.height == r.height; };
    if (std::ranges::none_of(cells[i].shapes, fits)) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (r.overlaps(s.cells[j])) return false;
  }
  return true;
}

int main(int argc, char** argv) try {
  const example::arguments arguments(argc, argv, "Plans the floor of a chip by branch and bound.",
                                     {{"cells", 16, "cells to place"},
                                      {"seed", 1, "which cells"},
                                      {"prefix", 4, "cells placed before a task starts"}});
  const auto cells = generate_cells(arguments["cells"], arguments["seed"]);
  const int length = std::min(arguments["prefix"], arguments["cells"]);

  example::race race;
  const solution serial = race.serial([&] { return serial_search(cells, length); });
  const solution parallel = race.parallel([&] { return parallel_search(cells, length); });

  std::printf("area       %d\n", parallel.area);
  return race.finish(parallel.area == serial.area && is_valid(cells, parallel));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
