// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/condition_variable.hpp>

#include <cppless/detail/fiber/wake_list.hpp>

namespace cppless::fiber {

void condition_variable::enqueue(detail::waiter& me) noexcept {
  const std::lock_guard hold(lock_);
  queue_.push_back(me);
}

bool condition_variable::finish(detail::waiter& me, detail::time_point deadline,
                                const std::stop_token& stop) noexcept {
  if (me.wait_until(deadline, stop)) return true;
  {
    const std::lock_guard hold(lock_);
    if (queue_.remove(me)) return false;
  }
  me.wait();  // it is being notified this moment
  return true;
}

void condition_variable::notify_one() noexcept {
  detail::waiter* first = nullptr;
  {
    const std::lock_guard hold(lock_);
    first = queue_.pop_front();
  }
  if (first != nullptr) first->wake();
}

void condition_variable::notify_all() noexcept {
  detail::wake_list all;
  {
    const std::lock_guard hold(lock_);
    all.add_all(queue_);
  }
  all.wake();
}

}  // namespace cppless::fiber
