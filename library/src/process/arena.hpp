// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shared_memory.hpp"

namespace cppless::detail {

/// Hands out blocks of a shared memory whose users on the other side only read them.
///
/// Blocks are powers of two, so that memory is found again in constant time; what a block does not
/// use of its size is address space only, since untouched pages cost nothing. Large free blocks give
/// their pages back beyond a small reserve. Not thread-safe.
class arena {
 public:
  arena() = default;
  explicit arena(const shared_memory& memory) : memory_(&memory) {}

  /// Offset of a block of at least `capacity` bytes, 64-byte aligned; sets `capacity` to its size.
  /// Throws `rejected` when the memory is used up.
  std::uint64_t allocate(std::size_t& capacity);

  void release(std::uint64_t offset, std::size_t capacity) noexcept;

 private:
  static constexpr unsigned smallest_class = 9;  // 512 bytes
  static constexpr unsigned classes = 48;
  static constexpr std::size_t page_size = 4096;
  static constexpr std::size_t reserve = std::size_t{256} << 20;

  static unsigned class_of(std::size_t size) noexcept;

  struct free_block {
    std::uint64_t offset;
    bool has_pages;
  };

  const shared_memory* memory_ = nullptr;
  std::uint64_t used_ = 0;
  std::size_t reserved_ = 0;  ///< Bytes of free blocks that kept their pages.
  std::array<std::vector<free_block>, classes> free_;
};

}  // namespace cppless::detail
