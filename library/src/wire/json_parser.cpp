// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/json.hpp>

#include <cppless/errors.hpp>

namespace cppless::detail {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Recursive descent; the depth is limited by `most_json_levels`.
class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  json_value document() {
    json_value value = any(0);
    skip_space();
    if (at_ != text_.size()) fail("the end");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* wanted) const {
    const std::string found =
        at_ < text_.size()
            ? "character " + std::to_string(static_cast<unsigned char>(text_[at_]))
            : "the end";
    throw rejected("malformed JSON: " + found + " at position " + std::to_string(at_) + " of " +
                   std::to_string(text_.size()) + ", where " + wanted + " is expected");
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' ||
                                  text_[at_] == '\t')) {
      ++at_;
    }
  }

  json_value any(std::size_t level) {
    skip_space();
    json_value value;
    const std::size_t start = at_;
    const char first = peek();
    if (first == '{' || first == '[') {
      if (level == most_json_levels) {
        throw rejected("malformed JSON: more than " + std::to_string(most_json_levels) +
                       " levels at position " + std::to_string(at_));
      }
      ++at_;
      members(value, first == '{', level + 1);
    } else if (first == '"') {
      value.what = json_value::type::string;
      value.text = quoted();
      return value;
    } else if (first == '-' || is_digit(first)) {
      value.what = json_value::type::number;
      number();
    } else {
      word(value);
    }
    value.text = text_.substr(start, at_ - start);
    return value;
  }

  void members(json_value& value, bool object, std::size_t level) {
    value.what = object ? json_value::type::object : json_value::type::array;
    const char end = object ? '}' : ']';
    skip_space();
    if (take(end)) return;
    do {
      std::string_view name;
      if (object) {
        skip_space();
        name = quoted();
        skip_space();
        if (!take(':')) fail("':'");
      }
      value.children.push_back(any(level));
      value.children.back().name = name;
      skip_space();
    } while (take(','));
    if (!take(end)) fail(object ? "',' or '}'" : "',' or ']'");
  }

  void word(json_value& value) {
    for (const std::string_view each : {"true", "false", "null"}) {
      if (text_.substr(at_, each.size()) == each) {
        at_ += each.size();
        value.what = each == "null" ? json_value::type::null : json_value::type::boolean;
        return;
      }
    }
    fail("a value");
  }

  void digits() {
    if (!is_digit(peek())) fail("a digit");
    while (is_digit(peek())) ++at_;
  }

  void number() {
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) take('-');
      digits();
    }
  }

  /// What is between quotes, its escapes checked.
  std::string_view quoted() {
    if (!take('"')) fail("'\"'");
    const std::size_t start = at_;
    while (peek() != '"') {
      if (at_ == text_.size() || static_cast<unsigned char>(peek()) < 0x20) {
        fail("'\"' or a character that needs no escape");
      }
      if (take('\\')) {
        escape();
      } else {
        ++at_;
      }
    }
    return text_.substr(start, at_++ - start);
  }

  void escape() {
    if (std::string_view("\"\\/bfnrt").find(peek()) != std::string_view::npos &&
        at_ < text_.size()) {
      ++at_;
      return;
    }
    const unsigned first = code_unit();
    if (first >= 0xdc00 && first < 0xe000) fail("the first half of a surrogate pair");
    if (first >= 0xd800 && first < 0xdc00) {
      if (!take('\\')) fail("the second half of a surrogate pair");
      const unsigned second = code_unit();
      if (second < 0xdc00 || second >= 0xe000) fail("the second half of a surrogate pair");
    }
  }

  unsigned code_unit() {
    if (!take('u')) fail("an escape");
    unsigned unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = hex_digit(peek());
      if (digit < 0) fail("a hexadecimal digit");
      unit = unit * 16 + static_cast<unsigned>(digit);
    }
    return unit;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void append_utf8(std::string& text, unsigned code) {
  const auto add = [&](unsigned bits) { text += static_cast<char>(bits); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 63));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 63));
    add(0x80 | (code & 63));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 63));
    add(0x80 | (code >> 6 & 63));
    add(0x80 | (code & 63));
  }
}

unsigned four_digits(std::string_view text) {
  unsigned unit = 0;
  for (const char c : text.substr(0, 4)) unit = unit * 16 + static_cast<unsigned>(hex_digit(c));
  return unit;
}

}  // namespace

json_value parse_json(std::string_view text) { return parser(text).document(); }

/// `text` was checked when it was parsed.
std::string json_value::resolve(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const char kind = text[++i];
    constexpr std::string_view letters = "bfnrt", meanings = "\b\f\n\r\t";
    if (const auto at = letters.find(kind); at != letters.npos) {
      result += meanings[at];
    } else if (kind != 'u') {
      result += kind;
    } else {
      unsigned code = four_digits(text.substr(i + 1));
      i += 4;
      if (code >= 0xd800 && code < 0xdc00) {
        code = 0x10000 + ((code - 0xd800) << 10) + (four_digits(text.substr(i + 3)) - 0xdc00);
        i += 6;
      }
      append_utf8(result, code);
    }
  }
  return result;
}

}  // namespace cppless::detail
