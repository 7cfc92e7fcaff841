// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace cppless::detail {

// <ranges> has these by name, but would cost each source as much time as half of this library.
template <class Range>
using iterator_of = decltype(std::ranges::begin(std::declval<Range&>()));
template <class Range>
concept an_input_range =
    requires(Range& range) { std::ranges::end(range); } && std::input_iterator<iterator_of<Range>>;

/// The places of the costs, the highest first; of equal ones the first.
std::vector<std::size_t> from_highest(const std::vector<double>& costs);

/// What an item counts beside others: a cost that is no number above 0 counts nothing.
double weight_of(double cost) noexcept;
double total_weight(const std::vector<double>& costs) noexcept;

/// Into how many parts an item of that cost would have to be split so that none decides when the
/// last of `workers` ends; at most 65,536.
std::size_t parts_wanted(double cost, double total, unsigned workers) noexcept;

/// Where chunks end: each has its share of what is left, so that they become smaller towards the end.
std::vector<std::size_t> chunk_ends(std::span<const double> costs, unsigned workers,
                                    std::size_t least, std::size_t most);

// Of what kind a policy is.
struct by_cost {};
struct by_chunks {};
struct by_parts {};

struct no_policy {};

/// The policy of that kind among those given, or `no_policy`.
template <class Kind>
no_policy find_policy() {
  return {};
}
template <class Kind, class First, class... Rest>
decltype(auto) find_policy(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<typename First::kind, Kind>) {
    return first;
  } else {
    return find_policy<Kind>(rest...);
  }
}

/// What a map runs: the range's elements, or the parts that stand for some of them.
template <class Iterator>
class map_items {
 public:
  using value = std::iter_value_t<Iterator>;

  template <class Range, class Order, class Split>
  map_items(Range& range, const Order& order, const Split& split, unsigned workers) {
    for (Iterator at = std::ranges::begin(range); at != std::ranges::end(range); ++at) {
      elements_.push_back(at);
      costs.push_back(cost_of(order, *at));
    }
    if constexpr (std::is_same_v<Split, no_policy>) {
      parts_of_element.assign(elements_.size(), 0);
      items_.resize(elements_.size());
      for (std::size_t at = 0; at < items_.size(); ++at) items_[at].element = at;
    } else {
      const std::vector<double> whole = std::exchange(costs, {});
      const double total = total_weight(whole);
      constexpr bool is_weighed = !std::is_same_v<Order, no_policy>;
      for (std::size_t at = 0; at < elements_.size(); ++at) {
        const std::size_t wanted = is_weighed ? parts_wanted(whole[at], total, workers) : workers;
        add(at, whole[at], order, split, wanted);
      }
    }
  }

  std::size_t size() const noexcept { return items_.size(); }

  /// Calls `function` with the item, as an element of the range or a value.
  template <class F>
  decltype(auto) with(std::size_t item, F&& function) const {
    if (const value* const part = items_[item].part) return function(*part);
    return function(*elements_[items_[item].element]);
  }

  std::vector<double> costs;                  ///< Of the items.
  std::vector<std::size_t> parts_of_element;  ///< How many items stand for each; 0: itself does.

 private:
  struct item {
    std::size_t element = 0;
    const value* part = nullptr;
  };

  template <class Order, class Element>
  static double cost_of(const Order& order, const Element& of) {
    if constexpr (std::is_same_v<Order, no_policy>) {
      return 1;
    } else {
      return static_cast<double>(order.cost(of));
    }
  }

  template <class Order, class Split>
  void add(std::size_t element, double cost, const Order& order, const Split& split,
           std::size_t wanted) {
    const std::size_t before = parts_.size();
    if (wanted >= 2) {
      for (auto&& part : split.parts_of(*elements_[element], wanted)) {
        parts_.push_back(std::forward<decltype(part)>(part));
      }
    }
    const std::size_t count = parts_.size() - before;
    if (count < 2) {
      parts_.resize(before);
      items_.push_back({element, nullptr});
      costs.push_back(cost);
      parts_of_element.push_back(0);
      return;
    }
    parts_of_element.push_back(count);
    for (std::size_t at = before; at < parts_.size(); ++at) {
      items_.push_back({element, &parts_[at]});
      costs.push_back(cost_of(order, parts_[at]));
    }
  }

  std::vector<Iterator> elements_;
  std::deque<value> parts_;
  std::vector<item> items_;
};

}  // namespace cppless::detail
