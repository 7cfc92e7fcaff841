// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/archive.hpp>
#include <cppless/detail/wire/fields.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

/// What the library knows about a type before it encodes a value of it.
namespace cppless::detail {

enum class form : unsigned char {
  none,       ///< cannot be serialised
  scalar,     ///< number, character, bool, enumeration
  text,       ///< basic_string
  raw,        ///< bytes
  sequence,   ///< vector
  bits,       ///< vector<bool>
  fixed,      ///< array, T[N]
  product,    ///< pair, tuple
  optional,   ///< optional
  variant,    ///< variant
  list,       ///< deque, list
  set,        ///< set, multiset and their unordered forms
  map,        ///< map, multimap and their unordered forms
  duration,   ///< chrono::duration
  time,       ///< chrono::time_point
  unique,     ///< unique_ptr to a type without virtual functions
  shared,     ///< shared_ptr likewise
  weak,       ///< weak_ptr likewise
  aggregate,  ///< plain aggregate whose author wrote no code
  empty,      ///< class without members, takes no bytes
  closure,    ///< lambda whose captures the plugin lets us see
  custom,     ///< its author's functions, called through cereal
};

/// Whether the author of T wrote functions for cereal. A type that can only be loaded is not
/// serialisable either way; asking cereal less saves 5 ms of compile time per type.
template <class T>
inline constexpr bool has_user_code =
    cereal::traits::detail::count_output_serializers<T, binary_output_archive>::value != 0;

template <class T>
inline constexpr bool is_reflected_closure = requires { T::capture_count(); };

/// The type of capture I as its value is kept: without `const` and references.
template <class T, int I>
using capture_type = std::remove_cvref_t<decltype(std::declval<T&>().template capture<I>())>;

template <class T>
consteval form form_of_class() {
  if constexpr (!requires { sizeof(T); }) {
    return form::none;
  } else if constexpr (is_reflected_closure<T>) {
    return T::capture_count() == 0 ? form::empty : form::closure;
  } else if constexpr (has_user_code<T>) {
    return form::custom;
  } else if constexpr (std::is_empty_v<T>) {
    return form::empty;
  } else {
    return field_count<T> != not_reflectable ? form::aggregate : form::none;
  }
}

template <class T>
struct form_of_type {
  static consteval form find() {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      return form::scalar;
    } else if constexpr (std::is_class_v<T>) {
      return form_of_class<T>();
    } else {
      return form::none;
    }
  }
  static constexpr form value = find();
};

template <form F>
struct known_form {
  static constexpr form value = F;
};
template <class C, class T, class A>
struct form_of_type<std::basic_string<C, T, A>> : known_form<form::text> {};
template <>
struct form_of_type<bytes> : known_form<form::raw> {};
template <class T, class A>
struct form_of_type<std::vector<T, A>> : known_form<form::sequence> {};
template <class A>
struct form_of_type<std::vector<bool, A>> : known_form<form::bits> {};
template <class T, std::size_t N>
struct form_of_type<std::array<T, N>> : known_form<form::fixed> {};
template <class T, std::size_t N>
struct form_of_type<T[N]> : known_form<form::fixed> {};
template <class A, class B>
struct form_of_type<std::pair<A, B>> : known_form<form::product> {};
template <class... T>
struct form_of_type<std::tuple<T...>> : known_form<form::product> {};
template <class T>
struct form_of_type<std::optional<T>> : known_form<form::optional> {};
template <class... T>
struct form_of_type<std::variant<T...>> : known_form<form::variant> {};
template <class T, class A>
struct form_of_type<std::deque<T, A>> : known_form<form::list> {};
template <class T, class A>
struct form_of_type<std::list<T, A>> : known_form<form::list> {};
template <class K, class C, class A>
struct form_of_type<std::set<K, C, A>> : known_form<form::set> {};
template <class K, class C, class A>
struct form_of_type<std::multiset<K, C, A>> : known_form<form::set> {};
template <class K, class H, class E, class A>
struct form_of_type<std::unordered_set<K, H, E, A>> : known_form<form::set> {};
template <class K, class H, class E, class A>
struct form_of_type<std::unordered_multiset<K, H, E, A>> : known_form<form::set> {};
template <class K, class V, class C, class A>
struct form_of_type<std::map<K, V, C, A>> : known_form<form::map> {};
template <class K, class V, class C, class A>
struct form_of_type<std::multimap<K, V, C, A>> : known_form<form::map> {};
template <class K, class V, class H, class E, class A>
struct form_of_type<std::unordered_map<K, V, H, E, A>> : known_form<form::map> {};
template <class K, class V, class H, class E, class A>
struct form_of_type<std::unordered_multimap<K, V, H, E, A>> : known_form<form::map> {};
template <class R, class P>
struct form_of_type<std::chrono::duration<R, P>> : known_form<form::duration> {};
template <class C, class D>
struct form_of_type<std::chrono::time_point<C, D>> : known_form<form::time> {};

/// Pointers to types with virtual functions need <cereal/types/polymorphic.hpp> by the user.
template <class Pointer, class T>
consteval form form_of_pointer(form otherwise) {
  if constexpr (!std::is_object_v<T> || std::is_array_v<T>) {
    return form::none;
  } else if constexpr (std::is_polymorphic_v<T>) {
    return has_user_code<Pointer> ? form::custom : form::none;
  } else {
    return otherwise;
  }
}
template <class T>
struct form_of_type<std::unique_ptr<T>> {
  static constexpr form value = form_of_pointer<std::unique_ptr<T>, T>(form::unique);
};
template <class T>
struct form_of_type<std::shared_ptr<T>> {
  static constexpr form value = form_of_pointer<std::shared_ptr<T>, T>(form::shared);
};
template <class T>
struct form_of_type<std::weak_ptr<T>> {
  static constexpr form value = form_of_pointer<std::weak_ptr<T>, T>(form::weak);
};

template <class T>
inline constexpr form form_of = form_of_type<T>::value;

struct shape {
  bool ok = false;         ///< can be encoded and decoded
  bool direct = false;     ///< needs no archive: no user code and no shared pointers inside
  bool recursive = false;  ///< may contain values of its own type, to any depth
  bool exact = false;      ///< all values take `least` bytes
  bool sized = false;      ///< how many bytes a value takes is found without looking at elements
  bool flat = false;       ///< its bytes in memory are its encoding
  bool checked = false;    ///< contains a bool, which has invalid bytes
  std::size_t least = 0;   ///< fewest bytes a value takes; 0 also if unknown
};

template <class T, class... Seen>
consteval shape find_shape();

/// Of several values behind each other.
template <class... Seen>
consteval shape shape_of_all(std::initializer_list<shape> parts) {
  shape all{.ok = true, .direct = true, .exact = true, .sized = true, .flat = true};
  for (const shape& part : parts) {
    all.ok &= part.ok;
    all.direct &= part.direct;
    all.recursive |= part.recursive;
    all.exact &= part.exact;
    all.sized &= part.sized;
    all.flat &= part.flat;
    all.checked |= part.checked;
    all.least += part.least;
  }
  return all;
}

/// The types inside T that decide whether and how it can be encoded.
template <class T>
struct parts_of {
  using type = type_list<>;
};
template <class T>
  requires(form_of<T> == form::aggregate)
struct parts_of<T> {
  using type = field_types<T>;
};
template <class T>
  requires(form_of<T> == form::closure)
struct parts_of<T> {
  template <int... I>
  static type_list<capture_type<T, I>...> list(std::integer_sequence<int, I...>);
  using type = decltype(list(std::make_integer_sequence<int, T::capture_count()>{}));
};
template <class T>
  requires(form_of<T> == form::sequence || form_of<T> == form::list || form_of<T> == form::set ||
           form_of<T> == form::optional)
struct parts_of<T> {
  using type = type_list<typename T::value_type>;
};
template <class T>
  requires(form_of<T> == form::map)
struct parts_of<T> {
  using type = type_list<typename T::key_type, typename T::mapped_type>;
};
template <class T>
  requires(form_of<T> == form::unique || form_of<T> == form::shared || form_of<T> == form::weak)
struct parts_of<T> {
  using type = type_list<typename T::element_type>;
};
template <class R, class P>
struct parts_of<std::chrono::duration<R, P>> {
  using type = type_list<R>;
};
template <class C, class D>
struct parts_of<std::chrono::time_point<C, D>> {
  using type = type_list<typename D::rep>;
};
template <class A, class B>
struct parts_of<std::pair<A, B>> {
  using type = type_list<A, B>;
};
template <class... T>
struct parts_of<std::tuple<T...>> {
  using type = type_list<T...>;
};
template <class... T>
struct parts_of<std::variant<T...>> {
  using type = type_list<T...>;
};
template <class T, std::size_t N>
struct parts_of<std::array<T, N>> {
  using type = type_list<T>;
};
template <class T, std::size_t N>
struct parts_of<T[N]> {
  using type = type_list<T>;
};

template <class T>
inline constexpr bool constructs_itself =
    form_of<T> == form::custom &&
    cereal::traits::has_load_and_construct<T, binary_input_archive>::value;

template <class T>
consteval bool find_fillable();

template <class... T>
consteval bool all_fillable(type_list<T...>) {
  return (find_fillable<T>() && ...);
}

/// Whether a value can be decoded over another: not for values that are constant inside, nor for closures.
template <class T>
consteval bool find_fillable() {
  constexpr form f = form_of<std::remove_const_t<T>>;
  if constexpr (std::is_const_v<T> || f == form::closure || f == form::none) {
    return false;
  } else if constexpr (f == form::custom) {
    return cereal::traits::is_input_serializable<T, binary_input_archive>::value;
  } else if constexpr (f == form::aggregate || f == form::product || f == form::fixed) {
    return all_fillable(typename parts_of<T>::type{});
  } else {
    return true;
  }
}
template <class T>
inline constexpr bool fillable = find_fillable<T>();

template <class T>
inline constexpr bool default_and_fill = std::is_default_constructible_v<T> && fillable<T>;

template <class T>
consteval bool has_array_field() {
  return []<class... F>(type_list<F...>) {
    return (std::is_array_v<F> || ...);
  }(typename parts_of<T>::type{});
}

template <class T>
inline constexpr std::size_t fixed_size = 0;
template <class T, std::size_t N>
inline constexpr std::size_t fixed_size<std::array<T, N>> = N;
template <class T, std::size_t N>
inline constexpr std::size_t fixed_size<T[N]> = N;

template <class... Seen, class... Part>
consteval shape shape_of_parts(type_list<Part...>) {
  return shape_of_all({find_shape<std::remove_cv_t<Part>, Seen...>()...});
}

template <class T>
consteval shape shape_of_custom() {
  using cereal::traits::is_input_serializable;
  using cereal::traits::is_output_serializable;
  return {.ok = is_output_serializable<T, binary_output_archive>::value &&
                (is_input_serializable<T, binary_input_archive>::value ||
                 cereal::traits::has_load_and_construct<T, binary_input_archive>::value)};
}

template <class T>
consteval shape shape_of_scalar() {
  return {.ok = !std::is_volatile_v<T>,
          .direct = true,
          .exact = true,
          .sized = true,
          .flat = !std::is_same_v<T, long double>,  // has padding
          .checked = std::is_same_v<T, bool>,
          .least = sizeof(T)};
}

/// `all`: of the parts. What remains true of a whole with a prefix of `prefix` bytes.
consteval shape prefixed(shape all, std::size_t prefix) {
  return {.ok = all.ok, .direct = all.direct, .recursive = all.recursive, .least = prefix};
}

template <class T, class... Seen>
consteval shape find_shape() {
  constexpr form f = form_of<T>;
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return {.ok = true, .direct = true, .recursive = true};
  } else if constexpr (f == form::none) {
    return {};
  } else if constexpr (f == form::scalar) {
    return shape_of_scalar<T>();
  } else if constexpr (f == form::custom) {
    return shape_of_custom<T>();
  } else if constexpr (f == form::empty) {
    return {.ok = std::is_default_constructible_v<T>, .direct = true, .exact = true, .sized = true};
  } else if constexpr (f == form::aggregate) {
    shape all = shape_of_parts<T, Seen...>(typename parts_of<T>::type{});
    all.flat &= std::is_trivially_copyable_v<T> && all.least == sizeof(T);
    // Only braces can make constant fields, and they cannot be filled from decoded arrays.
    if (has_array_field<T>() && !default_and_fill<T>) all.ok = false;
    return all;
  } else {
    shape all = shape_of_parts<Seen...>(typename parts_of<T>::type{});
    switch (f) {
      case form::fixed:
        all.least *= fixed_size<T>;
        all.flat &= all.least == sizeof(T);
        all.sized &= all.exact || fixed_size<T> <= 16;
        return all;
      case form::product:
      case form::closure: all.flat = false; return all;
      case form::duration:
      case form::time: return all;
      case form::optional:
      case form::unique: return prefixed(all, 1);
      case form::variant: return prefixed(all, 4);
      case form::shared:
      case form::weak: all.direct = false; return prefixed(all, 4);
      case form::text:
      case form::raw: return {.ok = true, .direct = true, .sized = true, .least = 8};
      case form::sequence: {
        shape whole = prefixed(all, 8);
        whole.sized = all.direct && all.exact;
        return whole;
      }
      default: return prefixed(all, 8);
    }
  }
}

template <class T>
inline constexpr shape shape_of = find_shape<T>();

}  // namespace cppless::detail
