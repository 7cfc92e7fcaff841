// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/permits.hpp>

#include <mutex>

#include <cppless/detail/fiber/wake_list.hpp>

namespace cppless::fiber::detail {

/// True if it took a permit after all.
bool permits::take_or_queue(waiter& me) noexcept {
  const std::lock_guard hold(lock_);
  for (;;) {
    if (try_acquire()) return true;
    std::uintptr_t seen = 0;
    if (state_.compare_exchange_strong(seen, awaited, std::memory_order_relaxed) ||
        seen == awaited) {
      queue_.push_back(me);
      return false;
    }
  }
}

void permits::wait_for_one() noexcept {
  waiter me;
  if (!take_or_queue(me)) me.wait();
}

bool permits::wait_for_one_until(time_point deadline, const std::stop_token& stop) noexcept {
  waiter me;
  if (take_or_queue(me) || me.wait_until(deadline, stop)) return true;
  {
    const std::lock_guard hold(lock_);
    if (queue_.remove(me)) {
      if (queue_.empty()) state_.store(0, std::memory_order_relaxed);
      return false;
    }
  }
  me.wait();  // a permit is on its way
  return true;
}

void permits::hand_over(std::ptrdiff_t count) noexcept {
  wake_list chosen;
  {
    const std::lock_guard hold(lock_);
    for (; count > 0 && !queue_.empty(); --count) chosen.add(*queue_.pop_front());
    if (!chosen.empty() && queue_.empty()) {
      state_.store(static_cast<std::uintptr_t>(count) * one, std::memory_order_release);
      count = 0;
    }
  }
  // Until they are woken they have not returned, so that this still exists; not afterwards. Without
  // any, they all have given up meanwhile: what is left comes in as if nobody had waited. (Nothing
  // is left of a release of 0, which must not try again for as long as somebody waits.)
  const bool nobody = chosen.empty();
  chosen.wake();
  if (nobody && count > 0) release(count);
}

}  // namespace cppless::fiber::detail
