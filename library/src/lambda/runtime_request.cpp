// SPDX-License-Identifier: Apache-2.0
#include "lambda/runtime_request.hpp"

#include <string>

#include <cppless/errors.hpp>
#include <cppless/json_binary_archive.hpp>

namespace cppless::detail {
namespace {

constinit thread_local runtime_request* current = nullptr;

// The string as it stands in the text, with its quotes.
std::string_view quoted(const json_value& value) {
  if (value.what != json_value::type::string) {
    throw rejected("the request's member \"" + std::string(value.name) + "\" is no string");
  }
  return {value.text.data() - 1, value.text.size() + 2};
}

}  // namespace

/// Asks the request that this thread serves.
class runtime_request::directory final : public shared_directory {
 public:
  static directory& get() {
    static directory only;
    return only;
  }

  std::span<const std::byte> find(const content_key& key, std::uint64_t, std::uint64_t) override {
    if (current == nullptr) throw shared_value_missing();
    return current->find(key);
  }
};

runtime_request::runtime_request(std::string_view body) : task_(body), outer_(current) {
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin != body.npos && body[begin] == '{') {
    json_value whole = parse_json(body);
    task_ = {};
    for (json_value& each : whole.children) {
      if (each.name == "task") task_ = quoted(each);
      if (each.name == "shared") carried_ = std::move(each);
    }
    if (task_.empty()) throw rejected("the request is an object without a member \"task\"");
  }
  shared_directory::install(directory::get());
  current = this;
}

runtime_request::~runtime_request() { current = outer_; }

std::span<const std::byte> runtime_request::find(const content_key& key) {
  const std::string name = to_text(key);
  for (const json_value& each : carried_.children) {
    if (each.name != name) continue;
    json_base64_source from(quoted(each));
    bytes decoded(from.remaining());
    from.read(decoded.data(), decoded.size());
    decoded_.push_back(std::move(decoded));
    return decoded_.back();
  }
  throw shared_value_missing();
}

std::string to_text(const content_key& key) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t each : key) {
    text += digits[each >> 4];
    text += digits[each & 15];
  }
  return text;
}

}  // namespace cppless::detail
