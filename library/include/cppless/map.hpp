// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/base/collect.hpp>
#include <cppless/detail/task/map_run.hpp>
#include <cppless/future.hpp>

namespace cppless {

/// Starts the tasks that are likely to take longest first: one that came last would have all workers
/// but one wait for it. `cost(element)` is asked here, in this process, once for each element, in
/// any unit. Alone, only the order of the costs counts; beside `guided` or `split` they are to be in
/// proportion to the time, and one that is no number above 0 counts nothing.
template <class Cost>
struct longest_first {
  Cost cost;

  using kind = detail::by_cost;
};
template <class Cost>
longest_first(Cost) -> longest_first<Cost>;

/// Many elements that take little time each: a task carries several of them, and fewer the fewer are
/// left, as OpenMP's `schedule(guided)` does: each takes 1/(2 x workers) of what is left, so that a
/// million elements become some dozens of tasks on two workers and the last ones end together. With
/// `longest_first` it is the costs that are divided so.
///
/// A chunk is one task: its configuration's limits are those of the whole chunk, a worker that dies
/// makes all of its elements run again, and if that happens too often all of them are `lost`.
/// Elements that throw do not stop the others. The chunk with its results must fit into one payload
/// (6 MB on Lambda): that is what `most` is for. A `task<...>` cannot be called in chunks; give its
/// callable instead.
struct guided {
  std::size_t least = 1;         ///< Elements in a chunk, but for the last.
  std::size_t most = SIZE_MAX;
  unsigned workers = 0;          ///< 0: as many tasks as the instance runs at once.

  using kind = detail::by_chunks;
};

/// Splits elements that would take so long that all others wait for them.
///
/// `parts_of(element, count)` returns a range of elements of the same type that do the same work
/// together, and `join(results)` makes the element's result of a `std::vector` of theirs, in order;
/// both run in this process. `count` says into how many parts of equal length the element should be
/// split: with `longest_first`, as many as make a part no longer than an eighth of each worker's share
/// of all, and elements that are short enough are not asked about; without, the number of workers.
/// More or fewer do as well; less than two leave the element whole. Parts are not split again. An
/// element fails with the error of its first part that does. Where the callable returns nothing,
/// `join` is left out.
template <class Parts, class Join = detail::no_policy>
struct split {
  Parts parts_of;
  Join join = {};

  using kind = detail::by_parts;
};
template <class Parts>
split(Parts) -> split<Parts>;
template <class Parts, class Join>
split(Parts, Join) -> split<Parts, Join>;

namespace detail {

template <class T>
concept a_map_policy = std::is_same_v<typename T::kind, by_cost> ||
                       std::is_same_v<typename T::kind, by_chunks> ||
                       std::is_same_v<typename T::kind, by_parts>;

template <class Kind, class... Policies>
inline constexpr int count_of = (int{std::is_same_v<typename Policies::kind, Kind>} + ... + 0);

template <class Config, class Range, class F, class Order, class Chunks, class Split>
auto map_by(instance& on, Range&& range, const F& callable, const Order& order_by,
            const Chunks& chunks, const Split& split_by) {
  static_assert(std::forward_iterator<iterator_of<Range>>,
                "the policies of map pass over the range twice: it must be a forward range");
  using items_type = map_items<iterator_of<Range>>;
  using result = result_t<F, typename items_type::value>;
  unsigned workers = on.core()->concurrency();
  if constexpr (std::is_same_v<Chunks, guided>) {
    if (chunks.workers != 0) workers = chunks.workers;
  }
  const items_type items(range, order_by, split_by, workers);
  std::vector<std::size_t> order(items.size());
  if constexpr (std::is_same_v<Order, no_policy>) {
    std::iota(order.begin(), order.end(), std::size_t{0});
  } else {
    order = from_highest(items.costs);
  }
  const auto run = [&] {
    if constexpr (std::is_same_v<Chunks, no_policy>) {
      return run_each<Config>(on, callable, items, order);
    } else {
      static_assert(!is_task<F>, "a task cannot be called in chunks: give map its callable instead");
      std::vector<double> costs;
      costs.reserve(order.size());
      for (const std::size_t item : order) costs.push_back(items.costs[item]);
      return run_chunks<Config>(on, callable, items, order,
                                chunk_ends(costs, workers, chunks.least, chunks.most));
    }
  };
  auto outcomes = run();
  if constexpr (std::is_same_v<Split, no_policy>) {
    return join_items<result>(outcomes, items.parts_of_element, no_policy{});
  } else {
    static_assert(std::is_void_v<result> || !std::is_same_v<decltype(split_by.join), no_policy>,
                  "split needs a second function that joins the results of an element's parts");
    return join_items<result>(outcomes, items.parts_of_element, split_by.join);
  }
}

}  // namespace detail

/// Calls `callable(element)` elsewhere for each element of `range` and returns the results in the
/// elements' order. One task per element; each is retried for itself when its worker dies. If some
/// fail, throws the first one's error once all have ended.
///
/// `policies` change how the work is divided, never the results: `longest_first`, `guided` and
/// `split`, each at most once, in any order. With one the range is passed over twice.
///
///     auto pixels = cppless::map(workers, tiles, paint, cppless::longest_first(estimate));
///     auto sums = cppless::map(workers, million, square, cppless::guided());
///     auto counts = cppless::map(workers, parts, solve, cppless::longest_first(estimate),
///                                cppless::split(halves, add_up));
template <class Config = lambda::config<>, detail::an_input_range Range, class F,
          detail::a_map_policy... Policies>
auto map(instance& on, Range&& range, const F& callable, const Policies&... policies) {
  using element = std::iter_value_t<detail::iterator_of<Range>>;
  static_assert(detail::count_of<detail::by_cost, Policies...> <= 1 &&
                    detail::count_of<detail::by_chunks, Policies...> <= 1 &&
                    detail::count_of<detail::by_parts, Policies...> <= 1,
                "each policy of map can be given once");
  if constexpr (sizeof...(Policies) == 0) {
    std::vector<future<detail::result_t<F, element>>> futures;
    if constexpr (requires { std::ranges::size(range); }) futures.reserve(std::ranges::size(range));
    for (auto&& each : range) futures.push_back(async<Config>(on, callable, each));
    return detail::collect(futures);
  } else if constexpr (detail::is_sendable<F, detail::parameters_t<F, element>>) {
    return detail::map_by<Config>(on, range, callable,
                                  detail::find_policy<detail::by_cost>(policies...),
                                  detail::find_policy<detail::by_chunks>(policies...),
                                  detail::find_policy<detail::by_parts>(policies...));
  } else {
    return std::vector<detail::stored_t<detail::result_t<F, element>>>();
  }
}

}  // namespace cppless
