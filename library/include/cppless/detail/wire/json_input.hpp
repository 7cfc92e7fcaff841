// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/json_archive.hpp>

#include <memory>
#include <string>

/// Reading what json_archive.hpp writes. Every value is built anew: JSON is for people, not for
/// speed.
namespace cppless::detail {

/// The bytes of a base64 string. Throws `rejected`.
bytes bytes_of_base64(std::string_view text);

template <class T, class In>
T get_text_number(In& in) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(get_text_number<std::underlying_type_t<T>>(in));
  } else if constexpr (std::is_same_v<T, bool>) {
    return in.reader().boolean();
  } else if constexpr (std::is_floating_point_v<T>) {
    return in.reader().template number<T>();
  } else {
    using wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const wide value = in.reader().template number<wide>();
    if (static_cast<wide>(static_cast<T>(value)) != value) {
      in.reader().reject_member(std::is_signed_v<T> ? "is out of the range of its signed type"
                                                    : "is out of the range of its unsigned type");
    }
    return static_cast<T>(value);
  }
}

template <class T, class In>
T get_member(In& in, const char* name) {
  in.reader().name(name);
  return get<T>(in);
}

template <class T, class In>
std::unique_ptr<T> get_text_unique(In& in) {
  std::unique_ptr<T> pointer;
  in.reader().open();
  if (get_member<std::uint8_t>(in, "valid") != 0) {
    in.reader().name("data");
    pointer = get_new<T>(in);
  }
  in.reader().close();
  return pointer;
}

template <class T, class In>
void get_text_shared(In& in, std::shared_ptr<T>& pointer) {
  in.reader().open();
  const auto number = get_member<std::uint32_t>(in, "id");
  if (number == 0) {
    pointer.reset();
  } else if ((number & cereal::detail::msb_32bit) != 0) {
    in.reader().name("data");
    pointer = get_shared_object<std::remove_const_t<T>>(in, number & ~cereal::detail::msb_32bit);
  } else {
    pointer = in.template object<std::remove_const_t<T>>(number);
  }
  in.reader().close();
}

template <class T, class In>
void get_text_elements(In& in, T& value) {
  constexpr form f = form_of<T>;
  for (std::size_t n = in.reader().count(); n != 0; --n) {
    if constexpr (f == form::map) {
      in.reader().open();
      auto key = get_member<typename T::key_type>(in, "key");
      value.emplace_hint(value.end(), std::move(key),
                         get_member<typename T::mapped_type>(in, "value"));
      in.reader().close();
    } else if constexpr (f == form::set) {
      value.emplace_hint(value.end(), get<typename T::value_type>(in));
    } else {
      value.push_back(get<typename T::value_type>(in));
    }
  }
}

template <class T, class In>
T get_text_container(In& in) {
  constexpr form f = form_of<T>;
  T value{};
  if constexpr (f == form::raw) {
    value = bytes_of_base64(in.reader().string());
  } else if constexpr (is_char_text<T>) {
    const std::string text = in.reader().string();
    value.assign(text.data(), text.size());
  } else {
    in.reader().open();
    get_text_elements(in, value);
    in.reader().close();
  }
  return value;
}

/// T[N] or array<T, N>, in place.
template <class In, class T>
void get_text_array(In& in, T& value) {
  in.reader().open();
  for (auto& element : value) {
    if constexpr (std::is_array_v<std::remove_reference_t<decltype(element)>>) {
      get_text_array(in, element);
    } else {
      get_into(in, element);
    }
  }
  if (in.reader().count() != 0) in.reader().reject_member("is the last element that has a place");
  in.reader().close();
}

template <class T, class In, class... F>
T get_text_fields(In& in, type_list<F...>) {
  if constexpr (has_array_field<T>()) {
    T value{};
    with_fields(value, [&](auto&... field) {
      const auto fill = [&](auto& one) {
        if constexpr (std::is_array_v<std::remove_reference_t<decltype(one)>>) {
          get_text_array(in, one);
        } else {
          get_into(in, one);
        }
      };
      (fill(field), ...);
    });
    return value;
  } else {
    return T{get<std::remove_const_t<F>>(in)...};
  }
}

template <class In, class... T>
std::variant<T...> get_text_variant(In& in) {
  const auto index = get_member<std::uint32_t>(in, "index");
  in.reader().name("data");
  std::optional<std::variant<T...>> value;
  const auto try_alternative = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if (index != I) return false;
    using alternative = std::variant_alternative_t<I, std::variant<T...>>;
    value.emplace(std::in_place_index<I>, get<alternative>(in));
    return true;
  };
  const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (try_alternative(std::integral_constant<std::size_t, I>{}) || ...);
  }(std::index_sequence_for<T...>{});
  if (!known) reject_value("variant index", index, sizeof...(T) - 1);
  return std::move(*value);
}

template <class T, class In>
T get_text_members(In& in) {
  constexpr form f = form_of<T>;
  if constexpr (f == form::aggregate || f == form::product) {
    return get_text_fields<T>(in, typename parts_of<T>::type{});
  } else if constexpr (f == form::optional) {
    if (get_member<bool>(in, "nullopt")) return T{};
    return T{std::in_place, get_member<typename T::value_type>(in, "data")};
  } else if constexpr (f == form::variant) {
    return [&]<class... A>(std::type_identity<std::variant<A...>>) {
      return get_text_variant<In, A...>(in);
    }(std::type_identity<T>{});
  } else if constexpr (f == form::closure) {
    storage_for<T> storage;
    get_closure_at(in, storage.place());
    storage.mark_alive();
    return std::move(*storage);
  } else {
    return T{};
  }
}

template <class T, class In>
T get_text(In& in) {
  constexpr form f = form_of<T>;
  if constexpr (f == form::scalar) {
    return get_text_number<T>(in);
  } else if constexpr (f == form::duration) {
    return T(get<typename T::rep>(in));
  } else if constexpr (f == form::time) {
    return T(get<typename T::duration>(in));
  } else if constexpr (f == form::unique) {
    return get_text_unique<typename T::element_type>(in);
  } else if constexpr (f == form::shared || f == form::weak) {
    std::shared_ptr<typename T::element_type> pointer;
    get_text_shared(in, pointer);
    return pointer;
  } else if constexpr (f == form::fixed) {
    if constexpr (default_and_fill<T>) {
      T value{};
      get_text_array(in, value);
      return value;
    } else {
      in.reader().open();
      T value = get_array<T>(in, std::make_index_sequence<fixed_size<T>>{});
      in.reader().close();
      return value;
    }
  } else if constexpr (f == form::text || f == form::raw || f == form::sequence ||
                       f == form::bits || f == form::list || f == form::set || f == form::map) {
    return get_text_container<T>(in);
  } else {
    in.reader().open();
    T value = get_text_members<T>(in);
    in.reader().close();
    return value;
  }
}

}  // namespace cppless::detail
