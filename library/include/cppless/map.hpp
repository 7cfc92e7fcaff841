// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/base/collect.hpp>
#include <cppless/future.hpp>

namespace cppless {

namespace detail {

// <ranges> has these by name, but would cost each source as much time as half of this library.
template <class Range>
using iterator_of = decltype(std::ranges::begin(std::declval<Range&>()));
template <class Range>
concept an_input_range =
    requires(Range& range) { std::ranges::end(range); } && std::input_iterator<iterator_of<Range>>;

}  // namespace detail

/// Calls `callable(element)` elsewhere for each element of `range` and returns the results in the
/// elements' order. One task per element; each is retried for itself when its worker dies. If some
/// fail, throws the first one's error once all have ended.
template <class Config = lambda::config<>, detail::an_input_range Range, class F>
auto map(instance& on, Range&& range, const F& callable) {
  using element = std::iter_value_t<detail::iterator_of<Range>>;
  std::vector<future<detail::result_t<F, element>>> futures;
  if constexpr (requires { std::ranges::size(range); }) futures.reserve(std::ranges::size(range));
  for (auto&& each : range) futures.push_back(async<Config>(on, callable, each));
  return detail::collect(futures);
}

namespace detail {

/// The places of the costs, the highest first; of equal ones the first.
std::vector<std::size_t> from_highest(const std::vector<double>& costs);

}  // namespace detail

/// How long the task of each element is likely to take, a number in any unit: `longest_first(cost)`.
template <class Cost>
struct longest_first {
  Cost cost;
};
template <class Cost>
longest_first(Cost) -> longest_first<Cost>;

/// The same, but starts the tasks that are likely to take longest first: one that came last would
/// have all workers but one wait for it. `order.cost(element)` is asked here, once for each element;
/// a rough estimate does. Results are in the elements' order. The range is passed over twice.
///
///     auto pixels = cppless::map(workers, tiles, paint, cppless::longest_first(estimate));
template <class Config = lambda::config<>, detail::an_input_range Range, class F, class Cost>
  requires std::forward_iterator<detail::iterator_of<Range>>
auto map(instance& on, Range&& range, const F& callable, const longest_first<Cost>& order) {
  using iterator = detail::iterator_of<Range>;
  std::vector<double> costs;
  std::vector<iterator> elements;
  for (iterator at = std::ranges::begin(range); at != std::ranges::end(range); ++at) {
    costs.push_back(static_cast<double>(order.cost(*at)));
    elements.push_back(at);
  }
  std::vector<future<detail::result_t<F, std::iter_value_t<iterator>>>> futures(costs.size());
  for (const std::size_t place : detail::from_highest(costs)) {
    futures[place] = async<Config>(on, callable, *elements[place]);
  }
  return detail::collect(futures);
}

}  // namespace cppless
