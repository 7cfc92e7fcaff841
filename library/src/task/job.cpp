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

void payload_buffer::release() noexcept {
  if (!is_local()) memory_->release(begin_, static_cast<std::size_t>(end_ - begin_));
  begin_ = cur_ = local_;
  end_ = local_ + sizeof local_;
}

}  // namespace cppless::detail
