// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {

/// Waiters that were taken out of their queue, to be woken once its lock is free. Not a
/// `wait_queue`: whoever gives up meanwhile must find that it is in a queue no more.
class wake_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }

  void add(waiter& taken) noexcept {
    taken.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &taken;
    last_ = &taken;
  }

  void add_all(wait_queue& from) noexcept {
    while (waiter* const first = from.pop_front()) add(*first);
  }

  void wake() noexcept {
    for (waiter* each = std::exchange(first_, nullptr); each != nullptr;) {
      std::exchange(each, each->next)->wake();  // it may be gone afterwards
    }
  }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

}  // namespace cppless::fiber::detail
