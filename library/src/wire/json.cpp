// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/json.hpp>

#include "wire/base64.hpp"

#include <cppless/bytes.hpp>
#include <cppless/errors.hpp>

#include <cmath>
#include <utility>

namespace cppless::detail {

// Writing.

void json_writer::begin_member() {
  if (levels_.empty()) return;
  level& here = levels_.back();
  if (here.what == kind::undecided_object) {
    text_ += '{';
    here.what = kind::object;
  } else if (here.what == kind::undecided_array) {
    text_ += '[';
    here.what = kind::array;
  } else {
    text_ += ',';
  }
  if (here.what == kind::object) {
    const std::string unnamed = name_ == nullptr ? "value" + std::to_string(here.members) : "";
    quoted(name_ == nullptr ? std::string_view(unnamed) : std::string_view(name_));
    text_ += ':';
  }
  name_ = nullptr;
  ++here.members;
}

void json_writer::open() {
  begin_member();
  if (levels_.size() == most_json_levels) {
    throw rejected("nested too deeply: " + std::to_string(levels_.size() + 1) +
                   " levels of JSON, the limit is " + std::to_string(most_json_levels));
  }
  levels_.push_back({kind::undecided_object, 0});
}

void json_writer::make_array() {
  if (levels_.back().what == kind::undecided_object) levels_.back().what = kind::undecided_array;
}

void json_writer::close() {
  switch (levels_.back().what) {
    case kind::undecided_object: text_ += "{}"; break;
    case kind::undecided_array: text_ += "[]"; break;
    case kind::object: text_ += '}'; break;
    case kind::array: text_ += ']'; break;
  }
  levels_.pop_back();
}

void json_writer::literal(std::string_view text) {
  begin_member();
  text_ += text;
}

void json_writer::quoted(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (code < 0x20) {
      text_ += "\\u00";
      text_ += "0123456789abcdef"[code >> 4];
      text_ += "0123456789abcdef"[code & 15];
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

void json_writer::string(std::string_view text) {
  begin_member();
  quoted(text);
}

void json_writer::base64(std::span<const std::byte> data) {
  begin_member();
  text_ += '"';
  const std::size_t old = text_.size();
  text_.resize(old + base64_size(data.size()));
  base64_encode(data.data(), data.size(), text_.data() + old);
  text_ += '"';
}

std::string json_writer::release() {
  close();
  return std::move(text_);
}

// Reading.

bytes bytes_of_base64(std::string_view text) {
  bytes data(base64_decoded_size(text.data(), text.size()));
  base64_decode(text.data(), text.size(), data.data());
  return data;
}

json_reader::json_reader(std::string_view text) : input_(text), root_(parse_json(text)) {
  if (root_.what != json_value::type::object) wrong_type(root_, "an object");
  levels_.push_back({&root_, 0});
}

const json_value& json_reader::find() {
  const level& here = levels_.back();
  const std::string_view name = std::exchange(name_, nullptr);
  const auto& children = here.value->children;
  // In the order of writing the next member has the name: only then the others are looked at.
  for (std::size_t tried = 0; tried < children.size(); ++tried) {
    const std::size_t at = (here.next + tried) % children.size();
    const std::string_view found = children[at].name;
    if (found == name || (found.find('\\') != found.npos && json_value::resolve(found) == name)) {
      levels_.back().next = at + 1;
      return children[at];
    }
  }
  complain(*here.value, "has no member '" + std::string(name) + "' among its " +
                            std::to_string(children.size()));
}

const json_value& json_reader::next() {
  level& here = levels_.back();
  if (name_ != nullptr && here.value->what == json_value::type::object) {
    last_ = &find();
  } else {
    name_ = nullptr;
    const std::size_t size = here.value->children.size();
    if (here.next == size) {
      complain(*here.value, "has only " + std::to_string(size) + " members, " +
                                std::to_string(size + 1) + " are needed");
    }
    last_ = &here.value->children[here.next++];
  }
  return *last_;
}

void json_reader::open() {
  const json_value& value = next();
  if (value.what != json_value::type::array && value.what != json_value::type::object) {
    wrong_type(value, "an object or an array");
  }
  levels_.push_back({&value, 0});
}

void json_reader::close() { levels_.pop_back(); }

std::size_t json_reader::count() const {
  return levels_.back().value->children.size() - levels_.back().next;
}

bool json_reader::boolean() {
  const json_value& value = next();
  if (value.what != json_value::type::boolean) wrong_type(value, "true or false");
  return value.text == "true";
}

std::string json_reader::string() {
  const json_value& value = next();
  if (value.what != json_value::type::string) wrong_type(value, "a string");
  return json_value::resolve(value.text);
}

double json_reader::special(const json_value& value) const {
  if (value.text == "NaN") return std::nan("");
  if (value.text == "Infinity") return std::numeric_limits<double>::infinity();
  if (value.text == "-Infinity") return -std::numeric_limits<double>::infinity();
  wrong_type(value, "a number");
}

void json_reader::reject_member(const char* why) const { complain(*last_, why); }

void json_reader::wrong_type(const json_value& value, const char* wanted) const {
  complain(value, std::string("is not ") + wanted);
}

void json_reader::out_of_range(const json_value& value, std::size_t size, bool is_signed) const {
  complain(value, "is not a number of " + std::to_string(8 * size) + " bits " +
                      (is_signed ? "with" : "without") + " sign");
}

void json_reader::complain(const json_value& value, const std::string& why) const {
  const std::size_t position =
      value.text.empty() ? 0 : static_cast<std::size_t>(value.text.data() - input_.data());
  constexpr std::size_t shown = 40;
  throw rejected("malformed JSON: '" + std::string(value.text.substr(0, shown)) +
                 (value.text.size() > shown ? "...' at position " : "' at position ") +
                 std::to_string(position) + " " + why);
}

}  // namespace cppless::detail
