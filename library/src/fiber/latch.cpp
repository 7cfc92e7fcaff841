// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/latch.hpp>

#include <mutex>

#include <cppless/detail/fiber/wake_list.hpp>

namespace cppless::fiber {

void latch::count_down(std::ptrdiff_t update) noexcept {
  detail::wake_list all;
  {
    const std::lock_guard hold(lock_);
    left_ -= update;
    if (left_ == 0) all.add_all(queue_);
  }
  all.wake();
}

bool latch::try_wait() const noexcept {
  const std::lock_guard hold(lock_);
  return left_ == 0;
}

void latch::wait() const noexcept {
  detail::waiter me;
  {
    const std::lock_guard hold(lock_);
    if (left_ == 0) return;
    queue_.push_back(me);
  }
  me.wait();
}

void latch::arrive_and_wait(std::ptrdiff_t update) noexcept {
  count_down(update);
  wait();
}

}  // namespace cppless::fiber
