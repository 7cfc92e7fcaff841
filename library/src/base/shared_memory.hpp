// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/file_descriptor.hpp"

namespace cppless::detail {

enum class access { read_only, read_write };

/// Anonymous memory that processes can share by passing its descriptor on. It has no name in any
/// file system, so nothing is left behind however its processes end. Pages cost memory only once
/// touched: a mapping may be reserved far larger than what is used.
class shared_memory {
 public:
  shared_memory() = default;

  /// Creates `size` bytes of zeroes; `name` shows in /proc/PID/maps only. Where the address space
  /// is limited, halves `size` down to `smallest` before it gives up with `rejected`.
  static shared_memory create(const std::string& name, std::size_t size, std::size_t smallest = 0);

  /// Maps memory created elsewhere, whole. Throws `rejected`.
  static shared_memory attach(file_descriptor descriptor, access rights);

  shared_memory(shared_memory&& other) noexcept { swap(other); }
  shared_memory& operator=(shared_memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~shared_memory();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  int descriptor() const noexcept { return descriptor_.get(); }

  /// A second descriptor through which the memory can only be read.
  file_descriptor read_only_descriptor() const;

  /// Gives the pages of [offset, offset + size) back to the system; they read as zero afterwards.
  void discard(std::size_t offset, std::size_t size) const noexcept;

 private:
  void swap(shared_memory& other) noexcept;

  file_descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cppless::detail
