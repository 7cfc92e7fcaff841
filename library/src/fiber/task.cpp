// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/task.hpp>

#include <cppless/detail/fiber/waiting.hpp>
#include <cppless/detail/fiber/worker.hpp>

#include "base/clock.hpp"

namespace cppless::fiber::detail {

void task::lock() noexcept {
  for (int turn = 0; marks.fetch_or(locked, std::memory_order_seq_cst) & locked; ++turn) {
    cppless::detail::spin_turn(turn);
  }
}

bool task::listen(listener& who) noexcept {
  std::uintptr_t before = state.load(std::memory_order_acquire);
  do {
    if (before == done) return false;
    who.next = reinterpret_cast<listener*>(before);
  } while (!state.compare_exchange_weak(before, reinterpret_cast<std::uintptr_t>(&who),
                                        std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

bool task::stop_listening(listener& who) noexcept {
  lock();
  std::uintptr_t first = state.load(std::memory_order_seq_cst);
  bool found = false;
  if (first == reinterpret_cast<std::uintptr_t>(&who)) {
    // Fails if the task is just being completed, or if somebody else has come to the front.
    found = state.compare_exchange_strong(first, reinterpret_cast<std::uintptr_t>(who.next),
                                          std::memory_order_acq_rel, std::memory_order_acquire);
  }
  if (!found && first != done && first != pending) {
    for (listener* before = reinterpret_cast<listener*>(first); before != nullptr;
         before = before->next) {
      if (before->next == &who) {
        before->next = who.next;
        found = true;
        break;
      }
    }
  }
  unlock();
  return found;
}

void task::start_if_deferred() {
  std::uintptr_t expected = deferred;
  if (state.compare_exchange_strong(expected, pending, std::memory_order_acq_rel)) {
    submit(current_or_attached(), *this);
  }
}

void task::complete() noexcept {
  const std::uintptr_t before = state.exchange(done, std::memory_order_seq_cst);
  if (before == pending) [[likely]] return;
  // Whoever has begun to take itself out of the list has locked it before the exchange, or sees
  // that the task is done.
  for (int turn = 0; marks.load(std::memory_order_seq_cst) & locked; ++turn) {
    cppless::detail::spin_turn(turn);
  }
  for (listener* each = reinterpret_cast<listener*>(before); each != nullptr;) {
    listener* const next = each->next;
    each->notify(*each);
    each = next;
  }
}

}  // namespace cppless::fiber::detail
