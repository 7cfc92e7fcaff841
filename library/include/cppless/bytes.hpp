// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace cppless {

/// An owning, contiguous run of bytes: what `binary_archive::serialize` returns and what payloads
/// and results are kept in.
///
/// Unlike `std::vector<std::byte>` it can grow without first writing zeros, so a gigabyte that is
/// about to be overwritten is touched once. It never keeps spare capacity. Copyable (copies the
/// bytes), cheap to move, serialisable: a task may take or return one. Not thread-safe.
class bytes {
 public:
  bytes() noexcept = default;

  /// `size` bytes with unspecified values. Throws std::bad_alloc.
  explicit bytes(std::size_t size) : data_(allocate(size)), size_(size) {}

  /// A copy of `size` bytes at `data`.
  bytes(const void* data, std::size_t size) : bytes(size) {
    if (size != 0) std::memcpy(data_, data, size);
  }

  explicit bytes(std::span<const std::byte> other) : bytes(other.data(), other.size()) {}
  explicit bytes(std::string_view text) : bytes(text.data(), text.size()) {}

  bytes(const bytes& other) : bytes(other.data_, other.size_) {}
  bytes(bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  bytes& operator=(bytes other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~bytes() { std::free(data_); }

  /// Takes over memory that came from `std::malloc`; `bytes` frees it.
  static bytes adopt(std::byte* data, std::size_t size) noexcept {
    bytes result;
    result.data_ = data;
    result.size_ = size;
    return result;
  }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  std::byte* begin() noexcept { return data_; }
  std::byte* end() noexcept { return data_ + size_; }
  const std::byte* begin() const noexcept { return data_; }
  const std::byte* end() const noexcept { return data_ + size_; }
  std::byte& operator[](std::size_t i) noexcept { return data_[i]; }
  std::byte operator[](std::size_t i) const noexcept { return data_[i]; }

  operator std::span<const std::byte>() const noexcept { return {data_, size_}; }

  /// The same bytes as characters; valid until the next change.
  std::string_view view() const noexcept {
    return {reinterpret_cast<const char*>(data_), size_};
  }

  /// Keeps the first min(size(), size) bytes; further ones have unspecified values. Pointers into
  /// the old bytes are invalid afterwards. Throws std::bad_alloc, and then nothing has changed.
  void resize(std::size_t size) {
    if (size == 0) {
      std::free(std::exchange(data_, nullptr));
    } else {
      void* grown = std::realloc(data_, size);
      if (grown == nullptr) throw std::bad_alloc();
      data_ = static_cast<std::byte*>(grown);
    }
    size_ = size;
  }

  friend bool operator==(const bytes& a, const bytes& b) noexcept {
    return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
  }

 private:
  static std::byte* allocate(std::size_t size) {
    if (size == 0) return nullptr;
    void* memory = std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cppless
