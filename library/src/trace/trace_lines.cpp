// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>

#include "trace/trace_file.hpp"

namespace cppless::detail {
namespace {

// What the events of one task may take at most, and any text in them.
constexpr std::size_t most_group = std::size_t{16} << 10;
constexpr std::size_t most_text = 500;

constexpr std::uint64_t flush_after_ns = 500'000'000;

// How many bytes `text` begins with that JSON takes as they are.
std::size_t plain_length(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
    ++at;
  }
  return at;
}

// The length of the valid UTF-8 character at the beginning of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return is_overlong || is_beyond ? 0 : length;
}

}  // namespace

trace_lines::trace_lines(trace_file& file) : file_(file), buffer_(file.buffer_of_this_thread()) {
  if (buffer_->is_busy.exchange(true, std::memory_order_acquire)) {
    buffer_ = nullptr;  // the trace is being finished
    return;
  }
  const std::size_t used = buffer_->committed.load(std::memory_order_relaxed);
  if (trace_buffer::capacity - used < most_group) file_.flush(*buffer_);
  at_ = buffer_->text + buffer_->committed.load(std::memory_order_relaxed);
  end_ = buffer_->text + trace_buffer::capacity;
}

trace_lines::~trace_lines() {
  if (buffer_ == nullptr) return;
  if (at_ != nullptr) {
    buffer_->committed.store(static_cast<std::size_t>(at_ - buffer_->text),
                             std::memory_order_release);
    file_.tasks_.fetch_add(tasks_, std::memory_order_relaxed);
    if (latest_ns_ > buffer_->flushed_ns + flush_after_ns) {
      buffer_->flushed_ns = latest_ns_;
      file_.flush(*buffer_);
    }
  }
  buffer_->is_busy.store(false, std::memory_order_release);
}

void trace_lines::put(std::string_view text) noexcept {
  if (at_ == nullptr) return;
  if (static_cast<std::size_t>(end_ - at_) < text.size()) {
    at_ = nullptr;  // the group is too large: none of it is written
    return;
  }
  std::memcpy(at_, text.data(), text.size());
  at_ += text.size();
}

void trace_lines::put_number(std::uint64_t value) noexcept {
  char digits[20];
  put({digits, static_cast<std::size_t>(std::to_chars(digits, digits + 20, value).ptr - digits)});
}

void trace_lines::put_microseconds(std::uint64_t ns) noexcept {
  put_number(ns / 1000);
  const auto rest = static_cast<unsigned>(ns % 1000);
  if (rest == 0) return;
  const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                         static_cast<char>('0' + rest / 10 % 10), static_cast<char>('0' + rest % 10)};
  put({digits, sizeof digits});
}

void trace_lines::put_quoted(std::string_view text) noexcept {
  put("\"");
  text = text.substr(0, most_text);
  for (;;) {
    const std::size_t plain = plain_length(text);
    put(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char first = text.front();
    const std::size_t length = character_length(text);
    if (length == 0) {
      put("\xef\xbf\xbd");  // U+FFFD
    } else if (first == '"' || first == '\\') {
      const char escaped[] = {'\\', first};
      put({escaped, 2});
    } else if (static_cast<unsigned char>(first) < 0x20) {
      constexpr const char* digits = "0123456789abcdef";
      const char escaped[] = {'\\', 'u', '0', '0', digits[first >> 4], digits[first & 15]};
      put({escaped, 6});
    } else {
      put(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  put("\"");
}

void trace_lines::put_place(trace_place place, std::uint64_t at) noexcept {
  put(",\"pid\":");
  put_number(place.process);
  put(",\"tid\":");
  put_number(place.thread);
  put(",\"ts\":");
  put_microseconds(at);
}

trace_lines& trace_lines::span(std::string_view category, std::string_view name, trace_place place,
                               std::uint64_t begin, std::uint64_t end) noexcept {
  latest_ns_ = std::max(latest_ns_, end);
  put("{\"cat\":\"");
  put(category);
  put("\",\"ph\":\"X\",\"name\":");
  put_quoted(name);
  put_place(place, begin);
  put(",\"dur\":");
  put_microseconds(end > begin ? end - begin : 0);
  return *this;
}

trace_lines& trace_lines::metadata(std::string_view name, trace_place place) noexcept {
  put("{\"cat\":\"cppless\",\"ph\":\"M\",\"name\":\"");
  put(name);
  put("\"");
  put_place(place, 0);
  return *this;
}

void trace_lines::overlapping_span(std::string_view name, std::string_view id, trace_place place,
                                   std::uint64_t begin, std::uint64_t end) noexcept {
  for (const std::string_view phase : {"b", "e"}) {
    put("{\"cat\":\"");
    put(name);
    put("\",\"ph\":\"");
    put(phase);
    put("\",\"name\":\"");
    put(name);
    put("\",\"id\":\"");
    put(id);
    put("\"");
    put_place(place, phase == "b" ? begin : std::max(begin, end));
    close();
  }
}

trace_lines& trace_lines::flow(std::string_view id, bool in, bool out) noexcept {
  put(",\"bind_id\":\"");
  put(id);
  put("\"");
  if (in) put(",\"flow_in\":true");
  if (out) put(",\"flow_out\":true");
  return *this;
}

void trace_lines::begin_argument(std::string_view key) noexcept {
  put(std::exchange(has_arguments_, true) ? ",\"" : ",\"args\":{\"");
  put(key);
  put("\":");
}

trace_lines& trace_lines::argument(std::string_view key, std::uint64_t value) noexcept {
  begin_argument(key);
  put_number(value);
  return *this;
}

trace_lines& trace_lines::argument(std::string_view key, std::string_view value) noexcept {
  begin_argument(key);
  put_quoted(value);
  return *this;
}

void trace_lines::close() noexcept {
  put(std::exchange(has_arguments_, false) ? "}},\n" : "},\n");
}

}  // namespace cppless::detail
