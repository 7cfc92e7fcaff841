// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/shape.hpp>

#include <cereal/types/base_class.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

/// Decoding of bytes that may be malformed: `rejected` is thrown for what no encoding gives.
/// `In` is a `source`, a `checked_cursor` in its place, a `binary_input_archive`, or a `get_cursor`
/// where the length was checked.
namespace cppless::detail {

class get_cursor {
 public:
  explicit get_cursor(const std::byte* at) noexcept : at_(at) {}
  void read(void* to, std::size_t n) noexcept {
    std::memcpy(to, at_, n);
    at_ += n;
  }

 private:
  const std::byte* at_;
};

/// A new value.
template <class T, class In>
T get(In& in);

/// Archives that read names and structure (JSON) have these in json_archive.hpp.
template <class Archive>
concept text_input = requires { typename Archive::text_archive; };
template <class T, class In>
T get_text(In& in);
template <class T, class In>
std::unique_ptr<T> get_text_unique(In& in);

/// Users' functions for T read the members of an object of their own, except where `save_minimal`
/// made one plain value of the whole.
template <class In, class T>
struct node_of {
  static constexpr bool entered =
      text_input<In> && !cereal::traits::has_minimal_input_serialization<T, In>::value;
  explicit node_of(In& in) : in(in) {
    if constexpr (entered) in.reader().open();
  }
  ~node_of() {
    if constexpr (entered) in.reader().close();
  }
  In& in;
};
template <class T, class In>
void get_text_shared(In& in, std::shared_ptr<T>& pointer);

/// Overwrites a value, using again what memory it has. If it throws, the value is valid but
/// unspecified.
template <class In, class T>
void get_into(In& in, T& value);

inline source& source_of(source& in) { return in; }
inline source& source_of(binary_input_archive& in) { return in.raw(); }
inline checked_cursor& source_of(checked_cursor& in) { return in; }

inline std::uint64_t get_size(auto& in) {
  std::uint64_t n;
  std::memcpy(&n, in.take(sizeof n), sizeof n);  // not read(): it would keep `n` in memory
  return n;
}

/// The number of elements of which each takes at least `least` bytes.
template <class In>
std::size_t get_count(In& in, std::size_t least) {
  const std::uint64_t n = get_size(source_of(in));
  source_of(in).check_count(n, least);
  return static_cast<std::size_t>(n);
}

template <class T>
inline constexpr bool is_unique_pointer = false;
template <class T, class D>
inline constexpr bool is_unique_pointer<std::unique_ptr<T, D>> = true;

template <class In>
bool get_flag(In& in) {
  std::uint8_t flag;
  in.read(&flag, sizeof flag);
  if (flag > 1) [[unlikely]] reject_value("bool", flag, 1);
  return flag != 0;
}
inline bool get_flag(binary_input_archive& in) { return get_flag(in.raw()); }

// Numbers and ranges of them.

template <class In, class T>
void get_scalar(In& in, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = get_flag(in);
  } else {
    in.read(&value, sizeof value);
  }
}

/// Fills `n` existing values.
template <class In, class T>
void get_range(In& in, T* first, std::size_t n) {
  constexpr shape s = shape_of<T>;
  if constexpr (s.flat && !s.checked) {
    if (n != 0) in.read(static_cast<void*>(first), n * sizeof(T));
  } else if constexpr (s.exact && s.direct && !std::is_same_v<In, get_cursor>) {
    constexpr std::size_t block = s.least < 4096 ? 8192 / (s.least + 1) + 1 : 1;
    for (std::size_t done = 0; done < n;) {
      const std::size_t some = n - done < block ? n - done : block;
      get_cursor cursor(source_of(in).take(some * s.least));
      for (const std::size_t last = done + some; done < last; ++done) {
        get_into(cursor, first[done]);
      }
    }
  } else if constexpr (s.direct && std::is_same_v<In, source>) {
    checked_cursor cursor(in);
    for (std::size_t i = 0; i < n; ++i) get_into(cursor, first[i]);
    cursor.commit();
  } else {
    for (std::size_t i = 0; i < n; ++i) get_into(in, first[i]);
  }
}

/// Not inline: the optimiser would copy all of assign() to wherever a string is read.
template <class T>
[[gnu::noinline]] void assign_text(T& value, const typename T::value_type* first, std::size_t n) {
  value.assign(first, n);
}

/// Copies `n` elements that are in memory: one pass, without zeroing first.
template <class T>
void assign_flat(T& value, const std::byte* from, std::size_t n) {
  using element = std::remove_cvref_t<decltype(*value.data())>;
  const auto* first = reinterpret_cast<const element*>(from);
  if constexpr (form_of<T> == form::text && sizeof(element) == 1) {
    if (n == value.size()) {  // as often when decoding again
      std::memcpy(value.data(), first, n);
    } else {
      assign_text(value, first, n);
    }
  } else if (n == 0 || reinterpret_cast<std::uintptr_t>(from) % alignof(element) == 0) {
    value.assign(first, first + n);
  } else {
    value.resize(n);
    std::memcpy(static_cast<void*>(value.data()), from, n * sizeof(element));
  }
}

/// Reads `n` elements that are not in memory yet, or rejects their number.
template <class T>
[[gnu::noinline]] void get_flat_beyond(source& in, T& value, std::uint64_t count) {
  using element = std::remove_cvref_t<decltype(*value.data())>;
  in.check_count(count, sizeof(element));
  const auto n = static_cast<std::size_t>(count);
  if constexpr (form_of<T> == form::raw) {
    value.resize(n);
    in.read(value.data(), n);
    return;
  }
  // resize() writes zeros: few at a time, which stay in the cache.
  constexpr std::size_t piece = 12 * 1024 / sizeof(element) + 1;
  if constexpr (requires { value.reserve(n); }) value.reserve(n);
  for (std::size_t done = 0; done < n;) {
    const std::size_t ready = value.size() > done ? value.size() - done : piece;
    const std::size_t some = n - done < ready ? n - done : ready;
    if (value.size() < done + some) value.resize(done + some);
    in.read(static_cast<void*>(value.data() + done), some * sizeof(element));
    done += some;
  }
  value.resize(n);
}

/// Vectors and strings whose elements are copied as they are.
template <class In, class T>
void get_flat(In& in, T& value) {
  using element = std::remove_cvref_t<decltype(*value.data())>;
  const std::uint64_t n = get_size(in);
  if constexpr (requires(const element* p) { value.assign(p, p); }) {
    if (n <= in.in_window() / sizeof(element)) [[likely]] {
      return assign_flat(value, in.take(n * sizeof(element)), n);
    }
  }
  if constexpr (std::is_same_v<In, checked_cursor>) {
    in.by_source([&value, n](source& beyond) { get_flat_beyond(beyond, value, n); });
  } else {
    get_flat_beyond(in, value, n);
  }
}

// Containers.

/// How many elements to make room for at first: all of them unless they would take much more memory
/// than there is input left. Their number could have been made up.
template <class T>
std::size_t first_room(std::size_t n, std::size_t remaining) {
  const std::size_t affordable = remaining < sizeof(T) ? 64 : remaining / sizeof(T) * 64;
  return n < affordable ? n : affordable;
}

template <class In, class T>
void get_sequence(In& in, T& value) {
  using element = typename T::value_type;
  constexpr shape s = shape_of<element>;
  const std::size_t n = get_count(in, s.least);
  if constexpr (default_and_fill<element>) {
    const std::size_t room = first_room<element>(n, source_of(in).remaining());
    const std::size_t start = value.size() > room ? value.size() : room;
    value.resize(start < n ? start : n);
    std::size_t done = 0;
    while (true) {
      get_range(in, value.data() + done, value.size() - done);
      done = value.size();
      if (done == n) break;
      value.resize(2 * done < n ? 2 * done : n);
    }
  } else {
    value.clear();
    value.reserve(first_room<element>(n, source_of(in).remaining()));
    for (std::size_t i = 0; i < n; ++i) value.push_back(get<element>(in));
  }
}

template <class In, class T>
void get_bits(In& in, T& value) {
  const std::size_t n = get_count(in, 1);
  value.resize(n);
  for (std::size_t i = 0; i < n; ++i) value[i] = get_flag(in);
}

template <class In, class T>
void get_container(In& in, T& value) {
  constexpr form f = form_of<T>;
  using element = typename T::value_type;
  value.clear();
  if constexpr (f == form::map) {
    using key_type = typename T::key_type;
    using mapped_type = typename T::mapped_type;
    const std::size_t n = get_count(in, shape_of<key_type>.least + shape_of<mapped_type>.least);
    if constexpr (requires { value.reserve(n); }) value.reserve(first_room<element>(n, source_of(in).remaining()));
    for (std::size_t i = 0; i < n; ++i) {
      auto key = get<key_type>(in);
      value.emplace_hint(value.end(), std::move(key), get<mapped_type>(in));
    }
  } else {
    const std::size_t n = get_count(in, shape_of<element>.least);
    if constexpr (requires { value.reserve(n); }) value.reserve(first_room<element>(n, source_of(in).remaining()));
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (f == form::set) {
        value.emplace_hint(value.end(), get<element>(in));
      } else {
        value.push_back(get<element>(in));
      }
    }
  }
}

template <class In, class... T>
void get_variant(In& in, std::variant<T...>& value) {
  const auto index = get<std::uint32_t>(in);
  const auto try_alternative = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if (index != I) return false;
    value.template emplace<I>(get<std::variant_alternative_t<I, std::variant<T...>>>(in));
    return true;
  };
  const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (try_alternative(std::integral_constant<std::size_t, I>{}) || ...);
  }(std::index_sequence_for<T...>{});
  if (!known) reject_value("variant index", index, sizeof...(T) - 1);
}

template <class In, class T>
void get_optional(In& in, std::optional<T>& value) {
  if (get_flag(in)) {  // as in cereal, 1 means "nothing"
    value.reset();
  } else if constexpr (fillable<T>) {
    if (value) {
      get_into(in, *value);
    } else {
      value.emplace(get<T>(in));
    }
  } else {
    value.emplace(get<T>(in));
  }
}

// In place.

/// How many of these types, from the first on, take a known number of bytes; and how many bytes.
struct exact_run {
  std::size_t count = 0;
  std::size_t bytes = 0;
};
template <class... T>
consteval exact_run leading_exact() {
  exact_run run;
  bool all = true;
  const auto add = [&](form f, const shape& s) {
    all = all && f != form::none && f != form::custom && s.exact && s.direct;
    if (all) run = {run.count + 1, run.bytes + s.least};
  };
  (add(form_of<T>, shape_of<T>), ...);
  return run;
}

/// Several values behind each other: one comparison for those at the beginning whose size is known.
template <class In, class... T>
void get_each(In& in, T&... values) {
  constexpr exact_run run = leading_exact<T...>();
  constexpr bool checks = std::is_same_v<In, source> || std::is_same_v<In, checked_cursor>;
  if constexpr (std::is_same_v<In, source> && sizeof...(T) > 1 && run.count < sizeof...(T)) {
    checked_cursor cursor(in);
    get_each(cursor, values...);
    cursor.commit();
  } else if constexpr (checks && run.count > 1 && run.bytes <= 4096) {
    get_cursor cursor(in.take(run.bytes));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto step = [&]<bool Known>(std::bool_constant<Known>, auto& value) {
        if constexpr (Known) {
          get_into(cursor, value);
        } else {
          get_into(in, value);
        }
      };
      (step(std::bool_constant<(I < run.count)>{}, values), ...);
    }(std::index_sequence_for<T...>{});
  } else {
    (get_into(in, values), ...);
  }
}

template <class In, class T>
void get_compound(In& in, T& value) {
  constexpr form f = form_of<T>;
  if constexpr (f == form::aggregate) {
    if constexpr (shape_of<T>.recursive) source_of(in).nesting().check();
    with_fields(value, [&](auto&... field) { get_each(in, field...); });
  } else if constexpr (f == form::product) {
    std::apply([&](auto&... element) { (get_into(in, element), ...); }, value);
  } else if constexpr (f == form::fixed) {
    get_range(in, std::data(value), fixed_size<T>);
  } else if constexpr (f == form::duration) {
    value = T(get<typename T::rep>(in));
  } else if constexpr (f == form::time) {
    value = T(get<typename T::duration>(in));
  }
}

template <class T, class In>
std::unique_ptr<T> get_new(In& in);
template <class T, class In>
void get_shared(In& in, std::shared_ptr<T>& pointer);

template <class In, class T>
void get_into(In& in, T& value) {
  constexpr form f = form_of<T>;
  constexpr shape s = shape_of<T>;
  static_assert(s.ok, "cppless cannot deserialise this type, see detail/wire/put.hpp");
  if constexpr (!s.ok || f == form::empty) {
  } else if constexpr (text_input<In> && fillable<T> && f != form::custom) {
    value = get_text<T>(in);
  } else if constexpr (!fillable<T>) {
    T fresh = get<T>(in);
    std::destroy_at(&value);
    std::construct_at(&value, std::move(fresh));
  } else if constexpr (s.direct && std::is_same_v<In, binary_input_archive>) {
    get_into(in.raw(), value);
  } else if constexpr (s.flat && !s.checked) {
    in.read(static_cast<void*>(&value), sizeof value);
  } else if constexpr (f == form::scalar) {
    get_scalar(in, value);
  } else if constexpr (f == form::optional) {
    get_optional(in, value);
  } else if constexpr (f == form::variant) {
    get_variant(in, value);
  } else if constexpr (f == form::unique) {
    value = get_flag(in) ? get_new<typename T::element_type>(in) : nullptr;
  } else if constexpr (f == form::shared) {
    get_shared(in, value);
  } else if constexpr (f == form::weak) {
    std::shared_ptr<typename T::element_type> strong;
    get_shared(in, strong);
    value = strong;
  } else if constexpr (f == form::custom) {
    const node_of<In, T> node(in);
    if constexpr (is_unique_pointer<T>) {
      in.custom(value, typeid(typename T::element_type));
    } else {
      in.custom(value);
    }
  } else if constexpr (f == form::text || f == form::raw) {
    get_flat(source_of(in), value);
  } else if constexpr (f == form::sequence) {
    if constexpr (shape_of<typename T::value_type>.flat && !shape_of<typename T::value_type>.checked) {
      get_flat(source_of(in), value);
    } else {
      get_sequence(in, value);
    }
  } else if constexpr (f == form::bits) {
    get_bits(in, value);
  } else if constexpr (f == form::list || f == form::set || f == form::map) {
    get_container(in, value);
  } else {
    get_compound(in, value);
  }
}

}  // namespace cppless::detail

#include <cppless/detail/wire/get_fresh.hpp>
