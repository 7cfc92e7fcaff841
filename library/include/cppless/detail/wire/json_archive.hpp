// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/binary.hpp>
#include <cppless/detail/wire/json.hpp>

#include <cmath>
#include <span>
#include <string>

/// The archives behind json_structured_archive. Which types can be serialised, and how objects come
/// to be, is decided by the same code as for bytes (put.hpp, get.hpp); here is only how values look.
namespace cppless::detail {

class json_output_archive : public output_archive<json_output_archive>,
                            public cereal::traits::TextArchive {
 public:
  using text_archive = void;

  json_output_archive() : output_archive(this) { nesting_.start(); }

  json_writer& writer() noexcept { return writer_; }
  nesting_limit& nesting() noexcept { return nesting_; }

 private:
  json_writer writer_;
  nesting_limit nesting_;
};

class json_input_archive : public input_archive<json_input_archive>,
                           public cereal::traits::TextArchive {
 public:
  using text_archive = void;

  explicit json_input_archive(std::string_view text) : input_archive(this), reader_(text) {
    nesting_.start();
  }

  json_reader& reader() noexcept { return reader_; }
  nesting_limit& nesting() noexcept { return nesting_; }

 private:
  json_reader reader_;
  nesting_limit nesting_;
};

/// Text that becomes a JSON string; of other characters it becomes an array of numbers.
template <class T>
inline constexpr bool is_char_text = false;
template <class Traits, class Allocator>
inline constexpr bool is_char_text<std::basic_string<char, Traits, Allocator>> = true;

// Writing.

template <class Out, class T>
void put_text_number(Out& out, T value) {
  if constexpr (std::is_enum_v<T>) {
    put_text_number(out, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    out.writer().boolean(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value)) {
      out.writer().number(value);
    } else {  // JSON has no such numbers
      out.writer().string(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
  } else {
    using wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    out.writer().number(static_cast<wide>(value));
  }
}

template <class Out, class T>
void put_member(Out& out, const char* name, const T& value) {
  out.writer().name(name);
  put(out, value);
}

template <class Out, class T>
void put_text_unique(Out& out, const T* pointer) {
  out.writer().open();
  put_member(out, "valid", static_cast<std::uint8_t>(pointer != nullptr));
  if (pointer != nullptr) put_member(out, "data", *pointer);
  out.writer().close();
}

template <class Out, class T>
void put_text_shared(Out& out, const std::shared_ptr<T>& pointer) {
  const std::uint32_t number = pointer ? out.number_of(pointer) : 0;
  out.writer().open();
  put_member(out, "id", number);
  if ((number & cereal::detail::msb_32bit) != 0) put_member(out, "data", *pointer);
  out.writer().close();
}

template <class Out, class T>
void put_text_container(Out& out, const T& value) {
  constexpr form f = form_of<T>;
  json_writer& writer = out.writer();
  if constexpr (f == form::raw) {
    writer.base64(value);
  } else if constexpr (is_char_text<T>) {
    writer.string({value.data(), value.size()});
  } else {
    writer.open();
    writer.make_array();
    for (const auto& element : value) {
      if constexpr (f == form::map) {
        writer.open();
        put_member(out, "key", element.first);
        put_member(out, "value", element.second);
        writer.close();
      } else if constexpr (f == form::bits) {
        writer.boolean(element);
      } else {
        put(out, element);
      }
    }
    writer.close();
  }
}

/// The members of an object.
template <class Out, class T>
void put_text_members(Out& out, const T& value) {
  constexpr form f = form_of<T>;
  if constexpr (f == form::aggregate) {
    with_fields(value, [&](const auto&... field) { (put(out, field), ...); });
  } else if constexpr (f == form::closure) {
    put_captures(out, value, std::make_integer_sequence<int, T::capture_count()>{});
  } else if constexpr (f == form::product) {
    std::apply([&](const auto&... element) { (put(out, element), ...); }, value);
  } else if constexpr (f == form::optional) {
    put_member(out, "nullopt", !value.has_value());
    if (value) put_member(out, "data", *value);
  } else if constexpr (f == form::variant) {
    put_member(out, "index", static_cast<std::int32_t>(value.index()));
    std::visit([&](const auto& alternative) { put_member(out, "data", alternative); }, value);
  } else if constexpr (f == form::custom) {
    out.custom(value);
  }
}

template <class Out, class T>
void put_text(Out& out, const T& value) {
  constexpr form f = form_of<T>;
  if constexpr (f == form::scalar) {
    put_text_number(out, value);
  } else if constexpr (f == form::duration) {
    put(out, value.count());
  } else if constexpr (f == form::time) {
    put(out, value.time_since_epoch());
  } else if constexpr (f == form::unique) {
    put_text_unique(out, value.get());
  } else if constexpr (f == form::shared) {
    put_text_shared(out, value);
  } else if constexpr (f == form::weak) {
    put_text_shared(out, value.lock());
  } else if constexpr (f == form::text || f == form::raw || f == form::sequence ||
                       f == form::bits || f == form::fixed || f == form::list || f == form::set ||
                       f == form::map) {
    put_text_container(out, value);
  } else if constexpr (f == form::custom &&
                       cereal::traits::has_minimal_output_serialization<T, Out>::value) {
    out.custom(value);
  } else {
    out.writer().open();
    put_text_members(out, value);
    out.writer().close();
  }
}

}  // namespace cppless::detail

#include <cppless/detail/wire/json_input.hpp>

CEREAL_REGISTER_ARCHIVE(cppless::detail::json_output_archive)
CEREAL_REGISTER_ARCHIVE(cppless::detail::json_input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(cppless::detail::json_input_archive,
                            cppless::detail::json_output_archive)
