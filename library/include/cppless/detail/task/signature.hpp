// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <cppless/detail/wire/fields.hpp>

namespace cppless::detail {

template <class Member>
struct member_signature;

template <class C, class R, class... Ps>
struct member_signature<R (C::*)(Ps...)> {
  using parameters = type_list<std::decay_t<Ps>...>;
  using result = std::decay_t<R>;
};
template <class C, class R, class... Ps>
struct member_signature<R (C::*)(Ps...) const> : member_signature<R (C::*)(Ps...)> {};
template <class C, class R, class... Ps>
struct member_signature<R (C::*)(Ps...) noexcept> : member_signature<R (C::*)(Ps...)> {};
template <class C, class R, class... Ps>
struct member_signature<R (C::*)(Ps...) const noexcept> : member_signature<R (C::*)(Ps...)> {};

/// The callable has exactly one, non-template call operator: its parameter types are known.
template <class F>
concept has_plain_signature = requires { &F::operator(); };

/// The parameter types follow from the callable alone.
template <class F>
inline constexpr bool has_known_parameters = has_plain_signature<F>;

template <class F, class... Given>
struct parameters_for {
  using type = type_list<std::decay_t<Given>...>;
};
template <has_plain_signature F, class... Given>
struct parameters_for<F, Given...> {
  using type = typename member_signature<decltype(&F::operator())>::parameters;
};

/// The types in which arguments travel: the parameters' own where the callable has one signature,
/// else (generic, overloaded) those of the arguments given.
template <class F, class... Given>
using parameters_t = typename parameters_for<F, Given...>::type;

/// Decoded arguments are given as rvalues, or as lvalues where a parameter is `T&`.
template <class F, class... Args>
concept takes_rvalues = requires(F& f, Args&&... args) { f(static_cast<Args&&>(args)...); };
template <class F, class... Args>
concept takes_lvalues = requires(F& f, Args&... args) { f(args...); };

template <class F, class... Args>
auto call(F& f, Args&... args) {
  if constexpr (takes_rvalues<F, Args...>) {
    return f(static_cast<Args&&>(args)...);
  } else {
    return f(args...);
  }
}

template <class F, class Parameters>
struct result_of;
template <class F, class... Args>
  requires(takes_rvalues<F, Args...> || takes_lvalues<F, Args...>)
struct result_of<F, type_list<Args...>> {
  using type = decltype(call(std::declval<F&>(), std::declval<Args&>()...));
};
template <has_plain_signature F, class... Args>
  requires(takes_rvalues<F, Args...> || takes_lvalues<F, Args...>)
struct result_of<F, type_list<Args...>> {
  using type = typename member_signature<decltype(&F::operator())>::result;
};

template <class F, class... Given>
using result_t = typename result_of<F, parameters_t<F, Given...>>::type;

template <class... T>
std::make_integer_sequence<int, sizeof...(T)> find_indices(type_list<T...>);
template <class Types>
using indices_of = decltype(find_indices(Types{}));

template <class Parameters>
struct tuple_of;
template <class... Args>
struct tuple_of<type_list<Args...>> {
  using type = std::tuple<Args...>;
};

/// Arguments of a callable with one signature, as a tuple: what `{args...}` initialises.
template <class F>
using arguments_t = typename tuple_of<parameters_t<F>>::type;

}  // namespace cppless::detail
