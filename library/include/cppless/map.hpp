// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

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
  using result = detail::result_t<F, element>;
  std::vector<future<result>> futures;
  if constexpr (requires { std::ranges::size(range); }) futures.reserve(std::ranges::size(range));
  for (auto&& each : range) futures.push_back(async<Config>(on, callable, each));
  for (const future<result>& each : futures) each.wait();
  if constexpr (std::is_void_v<result>) {
    for (future<result>& each : futures) each.get();
  } else {
    std::vector<result> results;
    results.reserve(futures.size());
    for (future<result>& each : futures) results.push_back(each.get());
    return results;
  }
}

}  // namespace cppless
