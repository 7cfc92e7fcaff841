// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/waiting.hpp>

#include <optional>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "fiber/switching.hpp"

namespace cppless::fiber::detail {

/// One wait, which may end early. True if `wake` has been called.
[[gnu::always_inline]] inline bool waiter::block(const time_point* deadline) noexcept {
  // Given up before it began, as by a stop requested earlier: that is this wait's end.
  if (state_.load(std::memory_order_acquire) != running) return has_come();
  worker* const self = current();
  processor* const mine = static_cast<processor*>(self);
  if (mine == nullptr || mine->fiber == nullptr) return block_thread(deadline);
  fiber_ = mine->fiber;
  scheduler& of = *mine->of;
  if (deadline == nullptr) {
    of.park(*mine, *this);
  } else {
    timers::timer timer{*this};
    of.clock().add(timer, *deadline);
    of.park(*mine, *this);
    of.clock().remove(timer);
  }
  return has_come();
}

/// Between giving up and leaving the queue is where others may still wake it. Deterministic runs
/// let them in there, as the seed says; with threads it takes an interrupt at that very moment.
bool waiter::has_come_or_gives_up(bool has_come) noexcept {
  processor* const mine = static_cast<processor*>(current());
  if (!has_come && mine != nullptr && mine->fiber != nullptr && mine->of->options().deterministic) {
    mine->of->maybe_yield(*mine);
  }
  return has_come;
}

void waiter::wait() noexcept {
  while (!block(nullptr)) {
  }
}

bool waiter::wait_until(time_point deadline) noexcept {
  if (deadline == time_point::max()) {
    wait();
    return true;
  }
  return has_come_or_gives_up(block(&deadline));
}

bool waiter::wait_until(time_point deadline, const std::stop_token& stop) noexcept {
  if (!stop.stop_possible()) return wait_until(deadline);
  bool came;
  {
    // Calls at once if the stop was requested before, and is gone, or has returned, at the end.
    const std::stop_callback tell(stop, [this] { give_up(); });
    came = block(deadline == time_point::max() ? nullptr : &deadline);
  }
  return has_come_or_gives_up(came);
}

bool waiter::block_thread(const time_point* deadline) noexcept {
  if (!commit_to(thread_asleep)) return has_come();
  for (;;) {
    std::uint64_t left_ns = 0;  // no limit
    if (deadline != nullptr) {
      const auto left = (*deadline - std::chrono::steady_clock::now()).count();
      if (left <= 0) give_up();
      left_ns = static_cast<std::uint64_t>(left);
    }
    if (state_.load(std::memory_order_acquire) != thread_asleep) return has_come();
    cppless::detail::futex_wait(state_, thread_asleep, left_ns);
  }
}

/// Whether `wake` has been called. If not, the waiter may wait once more.
bool waiter::has_come() noexcept {
  std::uint32_t seen = state_.load(std::memory_order_acquire);
  if (seen == given_up) {
    state_.compare_exchange_strong(seen, running, std::memory_order_acq_rel,
                                   std::memory_order_acquire);
  }
  return seen == woken;
}

/// False if the wait has been ended already.
bool waiter::commit_to(state blocked) noexcept {
  std::uint32_t expected = running;
  return state_.compare_exchange_strong(expected, blocked, std::memory_order_acq_rel,
                                        std::memory_order_acquire);
}

void waiter::wake() noexcept {
  // After the exchange the waiter may be gone, unless it is a parked fiber's, which goes on only
  // once it is resumed. Of a thread's only the address is used.
  const std::uint32_t before = state_.exchange(woken, std::memory_order_acq_rel);
  if (before == fiber_parked) {
    scheduler::running()->resume(*fiber_);
  } else if (before == thread_asleep) {
    cppless::detail::futex_wake(state_);
  }
}

void waiter::give_up() noexcept {
  std::uint32_t before = state_.load(std::memory_order_acquire);
  do {
    if (before == woken || before == given_up) return;
  } while (!state_.compare_exchange_weak(before, given_up, std::memory_order_acq_rel,
                                         std::memory_order_acquire));
  if (before == fiber_parked) {
    scheduler::running()->resume(*fiber_);
  } else if (before == thread_asleep) {
    cppless::detail::futex_wake(state_);
  }
}

void spin_lock::lock_contended() noexcept {
  for (int turn = 0;; ++turn) {
    while (held_.load(std::memory_order_relaxed)) cppless::detail::spin_turn(turn++);
    if (!held_.exchange(true, std::memory_order_acquire)) return;
  }
}

void yield() noexcept {
  processor* const mine = static_cast<processor*>(current());
  if (mine == nullptr || mine->fiber == nullptr) {
    ::sched_yield();
  } else {
    mine->of->yield(*mine);
  }
}

local_slot& current_local_slot() {
  processor& mine = static_cast<processor&>(current_or_attached());
  if (mine.current == nullptr) return mine.thread_locals;
  if (mine.current->locals == nullptr) mine.current->locals = new local_slot;
  return *mine.current->locals;
}

const void* current_identity() noexcept {
  worker* const self = current();
  if (self != nullptr && self->current != nullptr) return self->current;
  static thread_local char of_thread;
  return &of_thread;
}

}  // namespace cppless::fiber::detail
