// SPDX-License-Identifier: Apache-2.0
// Which items make the most valuable load a knapsack can carry? Branch and bound: the host decides
// about the first items, each viable choice is a prefix, and a task searches what follows from it.
// All searches prune with the best value that any of them has found: a shared variable.
#include <cppless/cppless.hpp>

#include <algorithm>
#include <numeric>
#include <random>

#include "report.hpp"

struct item {
  int weight;
  int value;
};

struct load {
  int next;  // items before this one have been decided about
  int room;  // capacity left
  int value;
};

// Items that weigh and are worth about the same, the most valuable by weight first. With room for a
// whole number of them and a half, which is what main asks for, no bound is tight.
std::vector<item> generate_items(int count) {
  std::mt19937 random(count);
  std::vector<item> items;
  for (int i = 0; i < count; ++i) {
    const int weight = 1000 + static_cast<int>(random() % 100);
    items.push_back({weight, weight + static_cast<int>(random() % 200)});
  }
  std::ranges::sort(items, [](const item& a, const item& b) {
    return long(a.value) * b.weight > long(b.value) * a.weight;
  });
  return items;
}

// No search from here can do better: fill up with items, the last one in part.
int bound(const std::vector<item>& items, load l) {
  for (; l.next < std::ssize(items); ++l.next) {
    const item& i = items[l.next];
    if (i.weight > l.room) return l.value + static_cast<int>(long(i.value) * l.room / i.weight);
    l.room -= i.weight;
    l.value += i.value;
  }
  return l.value;
}

// Calls `visit` for the load with the next item and for that without.
template <class Visit>
void decide(const std::vector<item>& items, const load& l, Visit visit) {
  const item& i = items[l.next];
  if (i.weight <= l.room) visit(load{l.next + 1, l.room - i.weight, l.value + i.value});
  visit(load{l.next + 1, l.room, l.value});
}

// Raises `best` to the best value from here. What has become known of it elsewhere prunes here.
template <class Best>
void search(const std::vector<item>& items, const load& l, Best& best) {
  if (l.next == std::ssize(items)) return best.update(l.value);
  if (bound(items, l) <= best.get()) return;
  decide(items, l, [&](const load& next) { search(items, next, best); });
}

// As long as only one searches.
struct own_best {
  int value = 0;
  int get() const { return value; }
  void update(int found) { value = std::max(value, found); }
};

void add_prefixes(const std::vector<item>& items, const load& l, int length,
                  std::vector<load>& prefixes) {
  if (l.next == length)
    prefixes.push_back(l);
  else
    decide(items, l, [&](const load& n) { add_prefixes(items, n, length, prefixes); });
}

int parallel_search(const std::vector<item>& items, const load& empty, int length) {
  std::vector<load> prefixes;
  add_prefixes(items, empty, length, prefixes);

  cppless::default_dispatcher dispatcher;
  cppless::instance workers = dispatcher.create_instance();
  const cppless::shared_variable<int, cppless::merge::max> best(0);
  cppless::map(workers, prefixes, [items, best](const load& l) { search(items, l, best); });
  return best.get();
}

// Another way to the answer: the best value for every capacity.
int by_dynamic_programming(const std::vector<item>& items, int capacity) {
  std::vector<int> best(capacity + 1);
  for (const item& i : items)
    for (int room = capacity; room >= i.weight; --room)
      best[room] = std::max(best[room], best[room - i.weight] + i.value);
  return best[capacity];
}

int main(int argc, char** argv) {
  const example::arguments arguments(argc, argv, "Packs a knapsack by branch and bound.",
                                     {{"items", 40, "items to choose from"},
                                      {"prefix", 8, "items decided about before a task starts"}});
  const auto items = generate_items(arguments["items"]);
  const int length = std::min(arguments["prefix"], arguments["items"]);
  const int capacity = 1050 * (arguments["items"] / 4) + 525;
  const load empty = {0, capacity, 0};

  example::race race;
  const int serial = race.serial([&] {
    own_best best;
    search(items, empty, best);
    return best.value;
  });
  const int parallel = race.parallel([&] { return parallel_search(items, empty, length); });

  std::printf("value      %d\n", parallel);
  return race.finish(parallel == serial && parallel == by_dynamic_programming(items, capacity));
}
