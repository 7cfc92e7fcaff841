// SPDX-License-Identifier: Apache-2.0
#include "wire/base64.hpp"

#include <cppless/json_binary_archive.hpp>

#include <algorithm>
#include <cstring>

namespace cppless::detail {
namespace {

constexpr std::string_view white_space = " \t\r\n";

[[noreturn]] void not_a_string(std::string_view json) {
  throw rejected("malformed data: " + std::to_string(json.size()) +
                 " characters that are not a JSON string; it begins and ends with '\"', and at "
                 "least 2 characters are required");
}

std::string_view text_of(std::string_view json) {
  json.remove_prefix(std::min(json.find_first_not_of(white_space), json.size()));
  json = json.substr(0, json.find_last_not_of(white_space) + 1);
  if (json.size() < 2 || json.front() != '"' || json.back() != '"') not_a_string(json);
  return json.substr(1, json.size() - 2);
}

constexpr std::size_t first_window = 192;
constexpr std::size_t window_size = 24 * 1024;
constexpr std::size_t direct_size = 4 * 1024;
constexpr std::size_t step = 12 * 1024;  // a multiple of 3

}  // namespace

std::string to_json_base64(std::span<const std::byte> data) {
  json_base64_sink out(data.size());
  out.write(data.data(), data.size());
  return out.release();
}

json_base64_sink::json_base64_sink(std::size_t total) : window_(std::min(total + 3, step)) {
  json_.reserve(base64_size(total) + 2);
  json_ += '"';
  begin_ = cur_ = window_.data();
  end_ = begin_ + window_.size();
}

#if defined(__cpp_lib_string_resize_and_overwrite)
void json_base64_sink::convert(const std::byte* from, std::size_t n) {
  const std::size_t old = json_.size();
  const std::size_t more = base64_size(n);
  if (json_.capacity() < old + more) json_.reserve(std::max(old + more, 2 * json_.capacity()));
  json_.resize_and_overwrite(old + more, [&](char* text, std::size_t size) {
    base64_encode(from, n, text + old);
    return size;
  });
}
#else
/// In pieces, because resize() writes zeros first: those of one piece stay in the cache.
void json_base64_sink::convert(const std::byte* from, std::size_t n) {
  while (n != 0) {
    const std::size_t some = std::min(n, step);
    const std::size_t old = json_.size();
    json_.resize(old + base64_size(some));
    base64_encode(from, some, json_.data() + old);
    from += some;
    n -= some;
  }
}
#endif

/// Converts all whole groups of three bytes.
void json_base64_sink::flush() {
  const std::size_t whole = size() / 3 * 3;
  convert(begin_, whole);
  std::memmove(begin_, begin_ + whole, size() - whole);
  cur_ -= whole;
}

void json_base64_sink::grow(std::size_t more) {
  flush();
  if (more <= static_cast<std::size_t>(end_ - cur_)) return;
  const std::size_t left = size();  // at most two bytes
  bytes larger(left + more);
  std::memcpy(larger.data(), begin_, left);
  window_ = std::move(larger);
  begin_ = window_.data();
  cur_ = begin_ + left;
  end_ = begin_ + window_.size();
}

void json_base64_sink::write_beyond(const std::byte* from, std::size_t n) {
  flush();
  while (size() != 0 && n != 0) {  // fill the group that is begun
    *cur_++ = *from++;
    --n;
    if (size() == 3) flush();
  }
  const std::size_t whole = n / 3 * 3;
  convert(from, whole);
  if (n != whole) std::memcpy(cur_, from + whole, n - whole);
  cur_ += n - whole;
}

std::string json_base64_sink::release() {
  convert(begin_, size());
  json_ += '"';
  return std::move(json_);
}

json_base64_source::json_base64_source(std::string_view json)
    : json_base64_source(text_of(json), 0) {}

json_base64_source::json_base64_source(std::string_view text, std::size_t)
    : source(base64_decoded_size(text.data(), text.size())), text_(text) {}

/// Converts the next `n` bytes beyond the window: a multiple of 3, or all that are left.
void json_base64_source::convert(std::byte* to, std::size_t n) {
  const std::size_t characters = base64_size(n);
  if (done_ + characters == text_.size() && characters != 0) {
    const std::size_t last = text_.size() - 4;
    base64_decode_groups(text_.data(), done_, last, to);
    base64_decode_last(text_.data(), last, to + (last - done_) / 4 * 3);
  } else {
    base64_decode_groups(text_.data(), done_, done_ + characters, to);
  }
  done_ += characters;
  beyond_ -= n;
}

std::size_t json_base64_source::fetch(std::byte* to, std::size_t n) {
  if (n < direct_size) return 0;
  const std::size_t whole = n == beyond_ ? n : n / 3 * 3;
  convert(to, whole);
  if (whole != n) {  // a group of which only the first bytes are wanted
    const std::size_t group = std::min<std::size_t>(3, beyond_);
    convert(window_.data(), group);
    std::memcpy(to + whole, window_.data(), n - whole);
    cur_ = window_.data() + (n - whole);
    end_ = window_.data() + group;
  }
  return n;
}

void json_base64_source::refill(std::size_t n) {
  const std::size_t left = in_window();
  // The first time only a little: often it is a length, and what follows goes elsewhere directly.
  const std::size_t wanted = std::max(n, window_.empty() ? first_window : window_size) + 3;
  if (window_.size() < wanted) {
    bytes larger(wanted);
    if (left != 0) std::memcpy(larger.data(), cur_, left);
    window_ = std::move(larger);
  } else if (left != 0) {
    std::memmove(window_.data(), cur_, left);
  }
  std::size_t more = window_.size() - left;
  more = more >= beyond_ ? beyond_ : more / 3 * 3;
  cur_ = window_.data();  // before convert() may throw: what they pointed to may be gone
  end_ = cur_ + left;
  convert(window_.data() + left, more);
  end_ += more;
}

}  // namespace cppless::detail
