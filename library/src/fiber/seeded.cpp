// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "base/fence.hpp"
#include "base/futex.hpp"
#include "fiber/scheduler.hpp"

// Deterministic runs: one worker, whose every choice (which task or fiber is next, whether somebody
// else gets a turn after a task was made or a wait was given up) comes from a generator with a given
// seed. Deadlines pass in their order when nothing else is left to do, all of one moment together.

namespace cppless::fiber::detail {

/// Below `below`, which is positive. splitmix64.
std::uint64_t scheduler::choose(std::uint64_t below) noexcept {
  std::uint64_t z = (random_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return (z ^ (z >> 31)) % below;
}

void scheduler::maybe_yield(processor& self) noexcept {
  if (choose(2) == 0) yield(self);
}

scheduler::work scheduler::chosen_by_seed(processor& self) noexcept {
  for (;;) {
    while (fiber_record* const woken = injected_fibers_.pop()) self.ready.push(*woken);
    const std::uint32_t fibers = self.ready.size();
    std::uint32_t tasks = 0;
    while (self.tasks.at(tasks) != nullptr) ++tasks;
    if (fibers + tasks > 0) {
      std::uint64_t which = choose(fibers + tasks);
      if (which < tasks) {
        task* const chosen = self.tasks.at(static_cast<deque_index>(which));
        if (self.tasks.take(*chosen)) return {nullptr, chosen};
        continue;
      }
      for (which -= tasks; which > 0; --which) self.ready.push(*self.ready.pop());
      return {self.ready.pop(), nullptr};
    }
    if (const work first = injected()) return first;
    for (processor* each = known_processors(); each != nullptr; each = each->next_known) {
      if (const auto look = each->tasks.peek(); each != &self && !look.empty) {
        cppless::detail::heavy_fence();
        if (task* const oldest = each->tasks.steal(look.top)) return {nullptr, oldest};
      }
    }
    if (timers_->fire_earliest()) continue;
    sleep_by_seed(self);
    if (stopping_.load(std::memory_order_acquire)) return {};
  }
}

/// Until another thread injects something.
void scheduler::sleep_by_seed(processor& self) noexcept {
  {
    const std::lock_guard hold(idle_lock_);
    self.next_idle = nullptr;
    idle_ = &self;
  }
  if (is_any_work() || stopping_.load(std::memory_order_acquire)) {
    wake_one();
  } else {
    went_to_sleep_.fetch_add(1, std::memory_order_release);
    cppless::detail::futex_wake(went_to_sleep_);
  }
  while (self.bell.load(std::memory_order_acquire) == 0) {
    cppless::detail::futex_wait(self.bell, 0);
  }
  self.bell.store(0, std::memory_order_relaxed);
}

}  // namespace cppless::fiber::detail
