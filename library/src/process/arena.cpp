// SPDX-License-Identifier: Apache-2.0
#include "process/arena.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <cppless/errors.hpp>

namespace cppless::detail {

unsigned arena::class_of(std::size_t size) noexcept {
  if (size == 0) return smallest_class;
  return std::max(smallest_class, static_cast<unsigned>(std::bit_width(size - 1)));
}

std::uint64_t arena::allocate(std::size_t& capacity) {
  const unsigned size_class = class_of(capacity);
  if (size_class >= classes) {
    throw rejected("a payload of " + std::to_string(capacity) + " bytes does not fit: at most " +
                   std::to_string(memory_->size()) + " bytes can be shared with workers");
  }
  const std::size_t size = std::size_t{1} << size_class;
  std::vector<free_block>& free = free_[size_class];
  if (!free.empty()) {
    const free_block taken = free.back();
    free.pop_back();
    if (taken.has_pages) reserved_ -= size;
    capacity = size;
    return taken.offset;
  }
  if (size > memory_->size() - used_) {
    throw rejected("a payload of " + std::to_string(capacity) + " bytes does not fit: " +
                   std::to_string(memory_->size() - used_) + " of " +
                   std::to_string(memory_->size()) +
                   " bytes shared with workers are free; wait for tasks before dispatching more");
  }
  capacity = size;
  const std::uint64_t offset = used_;
  used_ += size;
  return offset;
}

void arena::release(std::uint64_t offset, std::size_t capacity) noexcept {
  const bool keeps_pages = capacity < page_size || reserved_ + capacity <= reserve;
  if (keeps_pages) {
    reserved_ += capacity;
  } else {
    memory_->discard(offset, capacity);
  }
  free_[class_of(capacity)].push_back({offset, keeps_pages});
}

}  // namespace cppless::detail
