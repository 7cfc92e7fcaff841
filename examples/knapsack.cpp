// SPDX-License-Identifier: Apache-2.0
// Which items make the most valuable load a knapsack can carry? Branch and bound: the host decides
// about the first items, each viable choice is a prefix, and a task searches what follows from it.
// A task is told the best value known when it is dispatched. So a search that began late prunes
// with what earlier ones found, although tasks share no memory.
#include <cppless/cppless.hpp>

#include <algorithm>
#include <deque>
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

// The best value, or `best` if none from here is better.
int search(const std::vector<item>& items, const load& l, int best) {
  if (l.next == std::ssize(items)) return std::max(best, l.value);
  if (bound(items, l) <= best) return best;
  decide(items, l, [&](const load& next) { best = search(items, next, best); });
  return best;
}

void add_prefixes(const std::vector<item>& items, const load& l, int length,
                  std::vector<load>& prefixes) {
  if (l.next == length)
    prefixes.push_back(l);
  else
    decide(items, l, [&](const load& n) { add_prefixes(items, n, length, prefixes); });
}

// Dispatches no more than `ahead` tasks before it looks at results.
int parallel_search(const std::vector<item>& items, const load& empty, int length, int ahead) {
  std::vector<load> prefixes;
  add_prefixes(items, empty, length, prefixes);

  cppless::default_dispatcher dispatcher;
  cppless::instance workers = dispatcher.create_instance();
  auto task = [items](const load& l, int best) { return search(items, l, best); };
  std::deque<cppless::future<int>> running;
  int best = 0;
  for (std::size_t i = 0; i < prefixes.size() || !running.empty();) {
    if (i < prefixes.size() && std::ssize(running) < ahead) {
      if (bound(items, prefixes[i]) > best)
        running.push_back(cppless::async(workers, task, prefixes[i], best));
      ++i;
    } else {
      best = std::max(best, running.front().get());  // the next tasks learn of it
      running.pop_front();
    }
  }
  return best;
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
                                      {"prefix", 8, "items decided about before a task starts"},
                                      {"ahead", 8, "tasks dispatched ahead of their results"}});
  const auto items = generate_items(arguments["items"]);
  const int length = std::min(arguments["prefix"], arguments["items"]);
  const int capacity = 1050 * (arguments["items"] / 4) + 525;
  const load empty = {0, capacity, 0};

  example::race race;
  const int serial = race.serial([&] { return search(items, empty, 0); });
  const int parallel = race.parallel(
      [&] { return parallel_search(items, empty, length, arguments["ahead"]); });

  std::printf("value      %d\n", parallel);
  return race.finish(parallel == serial && parallel == by_dynamic_programming(items, capacity));
}
