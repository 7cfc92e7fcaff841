// SPDX-License-Identifier: Apache-2.0
#include "searching.hpp"

// The example's search is what is measured; only its main is not wanted.
#define main knapsack_example
#include "../../examples/knapsack.cpp"
#undef main

namespace {

using shared_best = cppless::shared_variable<int, cppless::merge::max>;

/// Asked once at each node that is not a leaf.
template <class Best>
struct counted {
  Best best;
  double nodes = 0;
  int get() {
    ++nodes;
    return best.get();
  }
  void update(int found) { best.update(found); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("bound_knapsack", argc, argv);
  constexpr int count = 40;
  const auto items = generate_items(count);
  const load empty = {0, 1050 * (count / 4) + 525, 0};
  std::vector<load> prefixes;
  add_prefixes(items, empty, 8, prefixes);
  auto instance = cppless::local_dispatcher({.workers = bench::workers}).create_instance();

  bench::compare_bounds(
      suite,
      [&] {
        counted<own_best> best;
        search(items, empty, best);
        return std::pair(best.best.value, best.nodes);
      },
      [&] {
        const auto found = cppless::map(instance, prefixes, [items](const load& l) {
          counted<own_best> best;
          search(items, l, best);
          return std::pair(best.best.value, best.nodes);
        });
        std::pair<int, double> all{0, 0};
        for (const auto& [value, nodes] : found) all = {std::max(all.first, value), all.second + nodes};
        return all;
      },
      [&] {
        const shared_best known(0);
        const auto nodes = cppless::map(instance, prefixes, [items, known](const load& l) {
          counted<shared_best> best{known};
          search(items, l, best);
          return best.nodes;
        });
        return std::pair(known.get(), std::accumulate(nodes.begin(), nodes.end(), 0.0));
      });
  return suite.finish();
}
