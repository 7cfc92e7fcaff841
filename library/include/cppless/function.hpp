// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cppless/detail/task/callable.hpp>

namespace cppless {

namespace detail {

template <auto Function, class Type>
struct function_object;

template <auto Function, class R, class... Args>
struct function_object<Function, R (*)(Args...)> {
  R operator()(Args... args) const { return Function(std::forward<Args>(args)...); }
};
template <auto Function, class R, class... Args>
struct function_object<Function, R (*)(Args...) noexcept> {
  R operator()(Args... args) const noexcept { return Function(std::forward<Args>(args)...); }
};

}  // namespace detail

/// A function as a task: `dispatch(instance, cppless::fn<&estimate>, result, {1000})`. A plain
/// function pointer cannot be sent, because which function it means is known too late. (paper 4.5)
template <auto Function>
inline constexpr detail::function_object<Function, decltype(Function)> fn{};

/// What `bind` makes.
template <class F, class... Values>
struct bound {
  std::tuple<Values...> values;

  template <class... Args>
  auto operator()(Args&&... args) const {
    return std::apply(
        [&](const Values&... unpacked) {
          return std::bit_cast<F>(std::byte{})(unpacked..., std::forward<Args>(args)...);
        },
        values);
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(values);
  }
};

namespace detail {

template <std::size_t Count, class Parameters>
struct drop_first {
  using type = Parameters;
};
template <std::size_t Count, class First, class... Rest>
  requires(Count > 0)
struct drop_first<Count, type_list<First, Rest...>> : drop_first<Count - 1, type_list<Rest...>> {};

template <class F, class... Values, class... Given>
  requires has_plain_signature<F>
struct parameters_for<bound<F, Values...>, Given...> : drop_first<sizeof...(Values), parameters_t<F>> {};

template <class F, class... Values>
  requires has_plain_signature<F>
inline constexpr bool has_known_parameters<bound<F, Values...>> = true;

}  // namespace detail

/// A captureless lambda (or other empty callable) together with its first arguments: what captures
/// do, without the plugin. `bind([](int n, int x) { return n * x; }, 3)` called with 4 gives 12.
template <class F, class... Values>
bound<F, std::decay_t<Values>...> bind(const F&, Values&&... values) {
  static_assert(std::is_empty_v<F> && std::is_trivially_copyable_v<F>,
                "bind takes a lambda without captures: pass the values as further arguments");
  return {{std::forward<Values>(values)...}};
}

}  // namespace cppless
