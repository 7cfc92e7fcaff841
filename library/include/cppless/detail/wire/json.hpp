// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// JSON text (RFC 8259) without knowledge of the values in it. Why not by RapidJSON: ARCHITECTURE.md.
namespace cppless::detail {

/// Objects and arrays inside each other, in text that is read or written.
inline constexpr std::size_t most_json_levels = 1000;

/// Writes one JSON object, member by member.
class json_writer {
 public:
  json_writer() { open(); }

  /// The name of the next member; otherwise it is "value0", "value1", ... by its place.
  void name(const char* name) { name_ = name; }

  /// Begins an object, or an array if make_array() is called before its first member.
  void open();
  void make_array();
  void close();

  void boolean(bool value) { literal(value ? "true" : "false"); }
  void string(std::string_view text);
  void base64(std::span<const std::byte> data);

  template <class T>
  void number(T value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    literal({text, static_cast<std::size_t>(end - text)});
  }

  /// Closes the object. To be called once.
  std::string release();

 private:
  enum class kind : char { undecided_object, undecided_array, object, array };
  struct level {
    kind what;
    unsigned members;
  };

  void begin_member();
  void literal(std::string_view text);
  void quoted(std::string_view text);

  std::string text_;
  std::vector<level> levels_;
  const char* name_ = nullptr;
};

/// A parsed value. Its texts are parts of the input, which must live as long.
struct json_value {
  enum class type : char { null, boolean, number, string, array, object };

  type what = type::null;
  std::string_view text;  ///< as it stands in the input; of strings what is between the quotes
  std::string_view name;  ///< of a member of an object, likewise
  std::vector<json_value> children;

  /// A string, or a name, with its escapes resolved.
  static std::string resolve(std::string_view text);
};

/// Throws `rejected`, with the position, for what is not one JSON value, all of it, or has more than
/// `most_json_levels`.
json_value parse_json(std::string_view text);

/// Walks through a parsed document in the order in which a json_writer wrote it.
class json_reader {
 public:
  explicit json_reader(std::string_view text);

  /// The next member must have this name; others are skipped if need be.
  void name(const char* name) { name_ = name; }

  /// Enters the next member, an object or an array.
  void open();
  /// Leaves it; members not read are skipped.
  void close();
  /// Members of the object or array entered last that were not read yet.
  std::size_t count() const;

  bool boolean();
  std::string string();

  template <class T>
  T number() {
    const json_value& value = next();
    if constexpr (std::is_floating_point_v<T>) {
      if (value.what == json_value::type::string) return special(value);
    }
    if (value.what != json_value::type::number) wrong_type(value, "a number");
    T result{};
    const char* end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, result);
    if (error != std::errc{} || stop != end) out_of_range(value, sizeof(T), std::is_signed_v<T>);
    return result;
  }

  /// Throws `rejected` about the member read last.
  [[noreturn]] void reject_member(const char* why) const;

 private:
  struct level {
    const json_value* value;
    std::size_t next;
  };

  const json_value& next();
  const json_value& find();
  double special(const json_value& value) const;
  [[noreturn]] void wrong_type(const json_value& value, const char* wanted) const;
  [[noreturn]] void out_of_range(const json_value& value, std::size_t size, bool is_signed) const;
  [[noreturn]] void complain(const json_value& value, const std::string& why) const;

  std::string_view input_;
  json_value root_;
  std::vector<level> levels_;
  const json_value* last_ = nullptr;
  const char* name_ = nullptr;
};

}  // namespace cppless::detail
