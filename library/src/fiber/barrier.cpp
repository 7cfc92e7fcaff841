// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/barrier.hpp>

#include <mutex>

#include <cppless/detail/fiber/wake_list.hpp>

namespace cppless::fiber::detail {

std::uint64_t barrier_core::arrive(std::ptrdiff_t update, bool& is_last) noexcept {
  const std::lock_guard hold(lock_);
  left_ -= update;
  is_last = left_ == 0;
  return phase_;
}

void barrier_core::drop() noexcept {
  const std::lock_guard hold(lock_);
  --expected_;
}

void barrier_core::finish() noexcept {
  wake_list all;
  {
    const std::lock_guard hold(lock_);
    left_ = expected_;
    ++phase_;
    all.add_all(queue_);
  }
  all.wake();
}

void barrier_core::wait(std::uint64_t phase) const noexcept {
  waiter me;
  {
    const std::lock_guard hold(lock_);
    if (phase_ != phase) return;
    queue_.push_back(me);
  }
  me.wait();
}

}  // namespace cppless::fiber::detail
