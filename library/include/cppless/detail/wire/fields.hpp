// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/pfr/core.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

/// The fields of a plain aggregate, without code by its author.
///
/// Boost.PFR binds the fields. It is not asked how many there are: its answer is a hard error for
/// aggregates with base classes and wrong for fields that are C arrays, where this header's is
/// "not reflectable" and right.
namespace cppless::detail {

/// The most initialisers an aggregate may take, elements of its C arrays counted one by one.
inline constexpr std::size_t most_initialisers = 256;

/// Stands for an initialiser of any type. Two overloads, because a field like
/// `std::optional<std::chrono::seconds>` would otherwise be ambiguous.
struct any_lvalue {
  constexpr explicit any_lvalue(std::size_t) {}
  template <class U>
  operator U&() const&& noexcept;
  template <class U>
  operator U&() const& noexcept;
};
struct any_value {
  constexpr explicit any_value(std::size_t) {}
  template <class U>
  operator U() const&& noexcept;
};

/// Stands for an initialiser of one of T's base classes.
template <class T>
struct any_base_of {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T> && std::is_copy_constructible_v<T>)
  operator B&() const&& noexcept;
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T> && !std::is_copy_constructible_v<T>)
  operator B() const&& noexcept;
};

template <class T>
using any_for = std::conditional_t<std::is_copy_constructible_v<T>, any_lvalue, any_value>;

template <class T, class Any, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{Any(I)...}; };
}

/// Whether field number `sizeof...(I)` (arrays before it counted by element) may be `{}`, and
/// `sizeof...(J)` more initialisers may follow.
template <class T, class Any, std::size_t... I, std::size_t... J>
consteval bool takes_empty(std::index_sequence<I...>, std::index_sequence<J...>) {
  return requires { T{Any(I)..., {}, Any(J)...}; };
}

template <class T, std::size_t... I>
consteval bool takes_base(std::index_sequence<I...>) {
  return requires { T{any_base_of<T>{}, any_for<T>(I)...}; };
}

template <class T, class Any, std::size_t Low, std::size_t High>
consteval std::size_t bisect_initialisers() {  // Low works, High does not
  if constexpr (High - Low <= 1) {
    return Low;
  } else {
    constexpr std::size_t middle = Low + (High - Low) / 2;
    if constexpr (takes<T, Any>(std::make_index_sequence<middle>{})) {
      return bisect_initialisers<T, Any, middle, High>();
    } else {
      return bisect_initialisers<T, Any, Low, middle>();
    }
  }
}

template <class T, class Any, std::size_t N = 1>
consteval std::size_t gallop_initialisers() {
  if constexpr (N > most_initialisers) {
    return N;
  } else if constexpr (takes<T, Any>(std::make_index_sequence<N>{})) {
    return gallop_initialisers<T, Any, 2 * N>();
  } else {
    return bisect_initialisers<T, Any, N / 2, N>();
  }
}

template <class T, class Any, std::size_t N>
consteval std::size_t descend_initialisers() {
  if constexpr (N == 0 || takes<T, Any>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return descend_initialisers<T, Any, N - 1>();
  }
}

/// How many initialisers `T{...}` takes at most; above `most_initialisers` if too many.
template <class T, class Any = any_for<T>>
consteval std::size_t count_initialisers() {
  if constexpr (requires { T{}; }) {
    return gallop_initialisers<T, Any>();
  } else {  // A field without default: the count is not monotonous, so from the top.
    return descend_initialisers<T, Any, (sizeof(T) < 64 ? sizeof(T) : 64)>();
  }
}

template <class T, std::size_t At, std::size_t Low, std::size_t High>
consteval std::size_t bisect_rest() {  // Low following initialisers work, High do not
  if constexpr (High - Low <= 1) {
    return Low;
  } else {
    constexpr std::size_t middle = Low + (High - Low) / 2;
    if constexpr (takes_empty<T, any_for<T>>(std::make_index_sequence<At>{},
                                             std::make_index_sequence<middle>{})) {
      return bisect_rest<T, At, middle, High>();
    } else {
      return bisect_rest<T, At, Low, middle>();
    }
  }
}

/// Number of fields from initialiser `At` on, given that there are `All` initialisers.
template <class T, std::size_t At, std::size_t All>
consteval std::size_t count_fields_from() {
  if constexpr (At >= All) {
    return 0;
  } else if constexpr (takes_empty<T, any_for<T>>(std::make_index_sequence<At>{},
                                                  std::make_index_sequence<All - At - 1>{}) ||
                       !takes_empty<T, any_for<T>>(std::make_index_sequence<At>{},
                                                   std::index_sequence<>{})) {
    return 1 + count_fields_from<T, At + 1, All>();  // also for a field that `{}` cannot make
  } else {  // An array: `{}` in its place leaves room for fewer others.
    constexpr std::size_t rest = bisect_rest<T, At, 0, All - At - 1>();
    return 1 + count_fields_from<T, All - rest, All>();
  }
}

inline constexpr std::size_t not_reflectable = static_cast<std::size_t>(-1);

/// Number of fields of T, or `not_reflectable`: not an aggregate, a union, base classes, reference
/// members, more than 100 fields or 256 initialisers.
template <class T>
consteval std::size_t count_fields() {
  if constexpr (!std::is_aggregate_v<T> || !std::is_class_v<T>) {
    return not_reflectable;
  } else if constexpr (std::is_empty_v<T>) {
    return 0;
  } else {
    constexpr std::size_t all = count_initialisers<T>();
    if constexpr (all == 0 || all > most_initialisers) {
      return not_reflectable;
    } else if constexpr (takes_base<T>(std::make_index_sequence<all - 1>{})) {
      return not_reflectable;
    } else if constexpr (!std::is_copy_assignable_v<T> && std::is_copy_constructible_v<T> &&
                         count_initialisers<T, any_value>() != all) {
      return not_reflectable;  // a reference: no value initialises it
    } else {
      constexpr std::size_t fields = count_fields_from<T, 0, all>();
      return fields <= 100 ? fields : not_reflectable;
    }
  }
}

template <class T>
inline constexpr std::size_t field_count = count_fields<std::remove_const_t<T>>();

/// References to the fields of `value`, in order, as arguments of `f`.
template <class T, class F>
constexpr decltype(auto) with_fields(T& value, F&& f) {
  auto tied = boost::pfr::detail::tie_as_tuple(value, boost::pfr::detail::size_t_<field_count<T>>{});
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
    return f(boost::pfr::detail::sequence_tuple::get<I>(tied)...);
  }(std::make_index_sequence<field_count<T>>{});
}

template <class... T>
struct type_list {};

/// The fields' types, `const` kept.
template <class T>
using field_types = decltype(with_fields(
    std::declval<T&>(),
    []<class... F>(F&...) { return type_list<F...>{}; }));

}  // namespace cppless::detail
