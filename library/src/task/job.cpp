// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/job.hpp>

#include <algorithm>
#include <cstring>

namespace cppless::detail {

void payload_buffer::grow(std::size_t more) {
  const std::size_t used = static_cast<std::size_t>(cur_ - begin_);
  const std::size_t held = static_cast<std::size_t>(end_ - begin_);
  std::size_t capacity = std::max(used + more, 2 * held);
  std::byte* const block = memory_->allocate(capacity);
  std::memcpy(block, begin_, used);
  release();
  begin_ = block;
  cur_ = block + used;
  end_ = block + capacity;
}

detached_payload::detached_payload(payload_buffer& from) noexcept
    : memory_(from.memory_), size_(from.size()) {
  if (from.is_local()) {
    std::memcpy(local_, from.local_, size_);
  } else {
    data_ = from.begin_;
    capacity_ = static_cast<std::size_t>(from.end_ - from.begin_);
  }
  from.begin_ = from.cur_ = from.local_;
  from.end_ = from.local_ + sizeof from.local_;
}

void payload_buffer::release() noexcept {
  if (!is_local()) memory_->release(begin_, static_cast<std::size_t>(end_ - begin_));
  begin_ = cur_ = local_;
  end_ = local_ + sizeof local_;
}

}  // namespace cppless::detail
