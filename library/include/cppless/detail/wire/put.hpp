// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/shape.hpp>

#include <cereal/types/base_class.hpp>

#include <cstdint>
#include <cstring>
#include <limits>

/// Encoding. `Out` is a `sink` while nothing but plain data comes along, a `binary_output_archive`
/// as soon as users' code or shared pointers do, and a `put_cursor` where room is already reserved.
/// The bytes are the same. docs/formats/values.md describes them.
namespace cppless::detail {

/// Writes into room that was reserved before: no comparison per write.
class put_cursor {
 public:
  explicit put_cursor(std::byte* at) noexcept : at_(at) {}
  void write(const void* from, std::size_t n) noexcept {
    std::memcpy(at_, from, n);
    at_ += n;
  }

 private:
  std::byte* at_;
};

/// Archives that write names and structure (JSON) have put_text in json_archive.hpp.
template <class Archive>
concept text_archive = requires { typename Archive::text_archive; };

template <class Out, class T>
void put(Out& out, const T& value);
template <class Out, class T>
void put_text(Out& out, const T& value);
template <class Out, class T>
void put_text_unique(Out& out, const T* pointer);
template <class Out, class T>
void put_text_shared(Out& out, const std::shared_ptr<T>& pointer);

inline sink& sink_of(sink& out) { return out; }
inline sink& sink_of(binary_output_archive& out) { return out.raw(); }

inline put_cursor& sink_of(put_cursor& out) { return out; }

template <class Out>
void put_size(Out& out, std::size_t size) {
  const std::uint64_t wide = size;
  sink_of(out).write(&wide, sizeof wide);
}

/// The bytes that the encoding of `value` takes, for shapes that are `sized`.
template <class T>
std::size_t measure(const T& value) {
  constexpr form f = form_of<T>;
  constexpr shape s = shape_of<T>;
  static_assert(s.sized);
  if constexpr (s.exact) {
    return s.least;
  } else if constexpr (f == form::text || f == form::raw) {
    return 8 + value.size() * sizeof(*value.data());
  } else if constexpr (f == form::sequence) {
    return 8 + value.size() * shape_of<typename T::value_type>.least;
  } else if constexpr (f == form::aggregate) {
    return with_fields(value, [](const auto&... field) { return (measure(field) + ...); });
  } else if constexpr (f == form::product) {
    return std::apply([](const auto&... element) { return (measure(element) + ...); }, value);
  } else if constexpr (f == form::fixed) {
    std::size_t sum = 0;
    for (const auto& element : value) sum += measure(element);
    return sum;
  } else {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return (measure(const_cast<T&>(value).template capture<I>()) + ...);
    }(std::make_integer_sequence<int, T::capture_count()>{});
  }
}

template <class Out, class T>
void put_scalar(Out& out, const T& value) {
  if constexpr (std::is_same_v<T, long double> && std::numeric_limits<T>::digits == 64) {
    unsigned char padded[sizeof(T)] = {};  // 80 bits; what is behind them in memory is not ours
    std::memcpy(padded, &value, 10);
    out.write(padded, sizeof padded);
  } else {
    out.write(&value, sizeof value);
  }
}

/// `n` values behind each other, from `first` on.
template <class Out, class T>
void put_range(Out& out, const T* first, std::size_t n) {
  constexpr shape s = shape_of<std::remove_cv_t<T>>;
  if constexpr (s.flat) {
    if (n != 0) out.write(first, n * sizeof(T));
  } else if constexpr (s.exact && s.direct && !std::is_same_v<Out, put_cursor>) {
    put_cursor cursor(sink_of(out).reserve(n * s.least));
    for (std::size_t i = 0; i < n; ++i) put(cursor, first[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) put(out, first[i]);
  }
}

template <class Out, class T>
void put_container(Out& out, const T& value) {
  constexpr form f = form_of<T>;
  put_size(out, value.size());
  if constexpr (f == form::text || f == form::raw || f == form::sequence) {
    put_range(out, value.data(), value.size());
  } else if constexpr (f == form::map) {
    for (const auto& [key, mapped] : value) {
      put(out, key);
      put(out, mapped);
    }
  } else if constexpr (f == form::bits) {
    for (const bool bit : value) put(out, bit);
  } else {
    for (const auto& element : value) put(out, element);
  }
}

template <class Out, class... T>
void put_variant(Out& out, const std::variant<T...>& value) {
  if (value.valueless_by_exception()) {
    reject("a variant that lost its value to an exception (index -1, the least is 0) cannot be encoded");
  }
  put(out, static_cast<std::int32_t>(value.index()));
  std::visit([&](const auto& alternative) { put(out, alternative); }, value);
}

template <class Out, class T>
void put_unique(Out& out, const T* pointer) {
  if constexpr (text_archive<Out>) return put_text_unique(out, pointer);
  put(out, static_cast<std::uint8_t>(pointer != nullptr));
  if (pointer != nullptr) put(out, *pointer);
}

/// The first time a shared object is met its number has the highest bit set and it follows itself.
template <class Out, class T>
void put_shared(Out& out, const std::shared_ptr<T>& pointer) {
  if constexpr (text_archive<Out>) return put_text_shared(out, pointer);
  const std::uint32_t number = pointer ? out.number_of(pointer) : 0;
  put(out, number);
  if ((number & cereal::detail::msb_32bit) != 0) put(out, *pointer);
}

template <class Out, class T, int... I>
void put_captures(Out& out, const T& closure, std::integer_sequence<int, I...>) {
  // capture<I>() is not const; the closure is only read.
  (put(out, const_cast<T&>(closure).template capture<I>()), ...);
}

template <class Out, class T>
void put_compound(Out& out, const T& value) {
  constexpr form f = form_of<T>;
  if constexpr (shape_of<T>.sized && std::is_same_v<Out, sink>) {
    put_cursor cursor(out.reserve(measure(value)));  // one comparison for all parts
    put_compound(cursor, value);
  } else if constexpr (f == form::aggregate) {
    if constexpr (shape_of<T>.recursive) sink_of(out).nesting().check();
    with_fields(value, [&](const auto&... field) { (put(out, field), ...); });
  } else if constexpr (f == form::closure) {
    put_captures(out, value, std::make_integer_sequence<int, T::capture_count()>{});
  } else if constexpr (f == form::product) {
    std::apply([&](const auto&... element) { (put(out, element), ...); }, value);
  } else if constexpr (f == form::fixed) {
    put_range(out, std::data(value), fixed_size<T>);
  } else if constexpr (f == form::duration) {
    put(out, value.count());
  } else if constexpr (f == form::time) {
    put(out, value.time_since_epoch());
  }
}

template <class Out, class T>
void put(Out& out, const T& value) {
  constexpr form f = form_of<T>;
  constexpr shape s = shape_of<T>;
  static_assert(s.ok,
                "cppless cannot serialise this type: give it a member template <class Archive> void "
                "serialize(Archive&), or make it an aggregate of serialisable fields without base "
                "classes, references and raw pointers; further standard types need "
                "<cppless/serialization.hpp>, pointers to polymorphic classes "
                "<cereal/types/polymorphic.hpp>");
  if constexpr (!s.ok) {
  } else if constexpr (text_archive<Out>) {
    put_text(out, value);
  } else if constexpr (f == form::empty) {
  } else if constexpr (s.direct && std::is_same_v<Out, binary_output_archive>) {
    put(out.raw(), value);
  } else if constexpr (s.flat) {
    out.write(&value, sizeof value);
  } else if constexpr (f == form::scalar) {
    put_scalar(out, value);
  } else if constexpr (f == form::optional) {
    put(out, static_cast<std::uint8_t>(!value.has_value()));
    if (value) put(out, *value);
  } else if constexpr (f == form::variant) {
    put_variant(out, value);
  } else if constexpr (f == form::unique) {
    put_unique(out, value.get());
  } else if constexpr (f == form::shared) {
    put_shared(out, value);
  } else if constexpr (f == form::weak) {
    put_shared(out, value.lock());
  } else if constexpr (f == form::custom) {
    out.custom(value);
  } else if constexpr (requires { value.size(); } && f != form::fixed && f != form::aggregate &&
                       f != form::closure) {
    put_container(out, value);
  } else {
    put_compound(out, value);
  }
}

/// The value inside cereal's name-value pairs.
template <class T>
T& without_name(T& value) {
  return value;
}
template <class T>
decltype(auto) without_name(const cereal::NameValuePair<T>& pair) {
  return without_name(std::as_const(pair.value));
}

template <class T>
consteval bool is_sized_argument() {
  if constexpr (form_of<T> == form::none || form_of<T> == form::custom) {
    return false;
  } else {
    return shape_of<T>.direct && shape_of<T>.sized;
  }
}

/// What users' functions pass to `archive(...)`: values, and cereal's wrappers around them.
template <class Out, class T>
void put_argument(Out& out, const T& value) {
  put(out, value);
}
template <class Out, class T>
void put_argument(Out& out, const cereal::NameValuePair<T>& pair) {
  if constexpr (text_archive<Out>) out.writer().name(pair.name);
  put_argument(out, std::as_const(pair.value));
}
template <class Out, class T>
void put_argument(Out& out, const cereal::SizeTag<T>& tag) {
  if constexpr (text_archive<Out>) {
    out.writer().make_array();
  } else {
    put_size(out, static_cast<std::size_t>(tag.size));
  }
}
template <class Out, class T>
void put_argument(Out& out, const cereal::DeferredData<T>& later) {
  out.defer([&out, later] { put_argument(out, std::as_const(later.value)); });
}
template <class Out, class T>
void put_argument(Out& out, const cereal::base_class<T>& part) {
  if constexpr (form_of<std::remove_cv_t<T>> == form::custom) {
    out.custom(part);
  } else {
    put(out, *part.base_ptr);
  }
}
template <class Out, class T>
void put_argument(Out& out, const cereal::virtual_base_class<T>& part) {
  out.custom(part);
}
template <class Out, class T>
void put_argument(Out& out,
                  const cereal::memory_detail::PtrWrapper<const std::shared_ptr<T>&>& wrapper) {
  put_shared(out, wrapper.ptr);
}
template <class Out, class T, class D>
void put_argument(Out& out,
                  const cereal::memory_detail::PtrWrapper<const std::unique_ptr<T, D>&>& wrapper) {
  put_unique(out, wrapper.ptr.get());
}

template <class... T>
void put_arguments(binary_output_archive& out, const T&... values) {
  if constexpr ((is_sized_argument<T>() && ...)) {
    put_cursor cursor(out.raw().reserve((measure(values) + ... + 0)));
    (put(cursor, values), ...);
  } else {
    (put_argument(out, values), ...);
  }
}

template <class Self>
template <class... T>
Self& output_archive<Self>::operator()(T&&... values) {
  Self& self = static_cast<Self&>(*this);
  self.nesting().check();
  if constexpr (text_archive<Self>) {
    (put_argument(self, std::as_const(values)), ...);
  } else {
    put_arguments(self, without_name(std::as_const(values))...);
  }
  return self;
}

}  // namespace cppless::detail
