// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/binary_archive.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cppless {

namespace detail {
/// `data` in base64 (RFC 4648, with padding) between quotation marks.
std::string to_json_base64(std::span<const std::byte> data);

/// The same for bytes as they are written, which are never all in memory.
class json_base64_sink final : public sink {
 public:
  /// `total`: how many bytes are going to be written, if known.
  explicit json_base64_sink(std::size_t total);
  ~json_base64_sink() = default;

  /// To be called once, after the last byte.
  std::string release();

 private:
  void grow(std::size_t more) override;
  void write_beyond(const std::byte* from, std::size_t n) override;
  void flush();
  void convert(const std::byte* from, std::size_t n);

  std::string json_;
  bytes window_;
};

/// The bytes that a JSON string stands for in base64, converted as they are asked for: through a
/// window that stays in the cache, or straight to where they shall go. White space around the
/// string is allowed. Does not own the text. Throws `rejected`, with the position.
class json_base64_source final : public source {
 public:
  explicit json_base64_source(std::string_view json);

 private:
  explicit json_base64_source(std::string_view text, std::size_t size);
  void refill(std::size_t n) override;
  std::size_t fetch(std::byte* to, std::size_t n) override;
  void convert(std::byte* to, std::size_t n);

  std::string_view text_;
  std::size_t done_ = 0;  // characters
  bytes window_;
};
}  // namespace detail

/// The bytes of `binary_archive` as one JSON string, for carriers that take nothing but JSON such
/// as AWS Lambda. A third larger; the conversion is vectorised and costs less than the memory it
/// moves through. (thesis 5.8.1)
struct json_binary_archive {
  template <class T>
  static std::string serialize(const T& value) {
    if constexpr (detail::shape_of<T>.direct) {
      // Two passes: the first one counts. Cheaper than a string that grows, or than all bytes
      // written to memory before they are converted.
      detail::counting_sink counted;
      detail::encode(counted, value);
      detail::json_base64_sink out(counted.count());
      detail::encode(out, value);
      return out.release();
    } else {  // Users' functions are called once.
      detail::heap_sink out;
      detail::encode(out, value);
      return detail::to_json_base64({out.data(), out.size()});
    }
  }

  /// As `binary_archive::deserialize`. Throws `rejected` also for what is not base64.
  template <class T>
  static void deserialize(std::string_view json, T& value) {
    detail::json_base64_source in(json);
    detail::decode_into(in, value);
    in.finish();
  }

  template <class T>
  static T deserialize(std::string_view json) {
    detail::json_base64_source in(json);
    T value = detail::decode<T>(in);
    in.finish();
    return value;
  }
};

}  // namespace cppless
