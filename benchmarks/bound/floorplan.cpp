// SPDX-License-Identifier: Apache-2.0
#include "searching.hpp"

// The example's search is what is measured; only its main is not wanted.
#define main floorplan_example
#include "../../examples/floorplan.cpp"
#undef main

namespace {

/// Asked once at each node.
template <class Best>
struct counted {
  Best best;
  double nodes = 0;
  int limit() {
    ++nodes;
    return best.limit();
  }
  void found(const solution& s) { best.found(s); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("bound_floorplan", argc, argv);
  const auto cells = generate_cells(16, 1);
  const solution first = first_solution(cells);
  const auto prefixes = all_prefixes(cells, 4);
  auto instance = cppless::local_dispatcher({.workers = bench::workers}).create_instance();

  bench::compare_bounds(
      suite,
      [&] {
        counted<own_best> best{{first}};
        for (plan prefix : prefixes) search(cells, prefix, best);
        return std::pair(best.best.smallest.area, best.nodes);
      },
      [&] {
        const auto found = cppless::map(instance, prefixes, [=](plan prefix) {
          counted<own_best> best{{first}};
          search(cells, prefix, best);
          return std::pair(best.best.smallest.area, best.nodes);
        });
        std::pair<int, double> all{first.area, 0};
        for (const auto& [area, nodes] : found) all = {std::min(all.first, area), all.second + nodes};
        return all;
      },
      [&] {
        const cppless::shared_variable<record, smaller> known({first.area, -1});
        std::vector<int> tasks(prefixes.size());
        std::iota(tasks.begin(), tasks.end(), 0);
        const auto nodes = cppless::map(instance, tasks, [=](int task) {
          counted<common_best> best{{known, task}};
          plan prefix = prefixes[task];
          search(cells, prefix, best);
          return best.nodes;
        });
        return std::pair(known.get().area, std::accumulate(nodes.begin(), nodes.end(), 0.0));
      });
  return suite.finish();
}
