// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "fiber/scheduler.hpp"

namespace cppless::fiber::detail {

namespace {

/// How often a worker looks for work elsewhere before it sleeps: some tens of microseconds, about
/// what it takes to wake it again.
constexpr int searches = 300;

}  // namespace

/// Somebody else's woken fiber is left to its worker for a moment: that mostly is about to park,
/// and to go on with it in less time than the fiber's cache lines need to another core.
struct scheduler::suspect {
  const processor* who = nullptr;
  std::uint32_t taken = 0;
  int seen_at = 0;
};

scheduler::work scheduler::next_of_own(processor& self) noexcept {
  const bool is_fair_turn = ++self.turn % fair_turn == 0;
  const bool has_yielded = std::exchange(self.has_yielded, false);
  if (is_fair_turn && has_yielded) {
    // Who yields may wait for what lies in the deque of somebody who does not come to it, either.
    suspect of;
    if (const work others = steal(self, of)) return others;
  }
  if (is_fair_turn || has_yielded) {
    if (const work first = injected()) return first;
    if (const auto look = self.tasks.peek(); !look.empty) {
      if (task* const oldest = self.tasks.steal(look.top)) return {nullptr, oldest};
    }
  }
  if (fiber_record* const woken = self.ready.pop()) return {woken, nullptr};
  if (task* const newest = self.tasks.pop()) return {nullptr, newest};
  return injected();
}

scheduler::work scheduler::injected() noexcept {
  if (fiber_record* const woken = injected_fibers_.pop()) return {woken, nullptr};
  if (injected_count_.load(std::memory_order_acquire) == 0) return {};
  const std::lock_guard hold(injection_lock_);
  if (injected_tasks_.empty()) return {};
  task* const first = injected_tasks_.front();
  injected_tasks_.pop_front();
  injected_count_.store(injected_tasks_.size(), std::memory_order_release);
  return {nullptr, first};
}

scheduler::work scheduler::steal(processor& self, suspect& of) noexcept {
  constexpr int patience = 20;
  ++of.seen_at;
  for (processor* victim = known_processors(); victim != nullptr; victim = victim->next_known) {
    if (victim == &self) continue;
    if (const auto look = victim->tasks.peek(); !look.empty) {
      cppless::detail::heavy_fence();
      if (task* const oldest = victim->tasks.steal(look.top)) return {nullptr, oldest};
    }
    const std::uint32_t size = victim->ready.size();
    if (size == 0) continue;
    const bool stands_still = of.who == victim && of.taken == victim->ready.taken();
    if (size > 1 || (stands_still && of.seen_at > patience)) {
      if (fiber_record* const woken = victim->ready.pop()) return {woken, nullptr};
    } else if (!stands_still) {
      of = {victim, victim->ready.taken(), 0};
    }
  }
  return {};
}

scheduler::work scheduler::find_work(processor& self) noexcept {
  if (options_.deterministic) return chosen_by_seed(self);
  if (const work own = next_of_own(self)) return own;
  idle_workers.fetch_add(one_searcher, std::memory_order_relaxed);
  for (;;) {
    suspect of;
    for (int turn = 0; turn < searches; ++turn) {
      work found = injected();
      if (!found) found = steal(self, of);
      if (found) {
        stop_searching();
        return found;
      }
      cppless::detail::spin_turn(turn);
    }
    sleep(self);
    if (stopping_.load(std::memory_order_acquire)) {
      idle_workers.fetch_sub(one_searcher, std::memory_order_relaxed);
      return {};
    }
  }
}

bool scheduler::is_any_work() const noexcept {
  if (injected_count_.load(std::memory_order_acquire) != 0) return true;
  if (!injected_fibers_.empty()) return true;
  for (processor* each = known_processors(); each != nullptr; each = each->next_known) {
    if (!each->tasks.peek().empty || !each->ready.empty()) return true;
  }
  return false;
}

/// While one searches, nobody else is woken; so the last one that finds something looks whether
/// there is more.
void scheduler::stop_searching() noexcept {
  const std::uint32_t before = idle_workers.fetch_sub(one_searcher, std::memory_order_seq_cst);
  if (before >= 2 * one_searcher || before == one_searcher) return;  // more searchers; no sleepers
  cppless::detail::heavy_fence();
  if (is_any_work()) wake_one();
}

/// Comes as a searcher, and goes as one.
void scheduler::sleep(processor& self) noexcept {
  {
    const std::lock_guard hold(idle_lock_);
    self.next_idle = idle_;
    idle_ = &self;
    idle_workers.fetch_add(one_sleeper - one_searcher, std::memory_order_seq_cst);
  }
  // Whoever made work visible before the announcement was seen has not rung: look once more. The
  // other side of this is `work_is_visible`.
  cppless::detail::heavy_fence();
  if (is_any_work() || stopping_.load(std::memory_order_acquire)) {
    const std::lock_guard hold(idle_lock_);
    for (processor** place = &idle_; *place != nullptr; place = &(*place)->next_idle) {
      if (*place != &self) continue;
      *place = self.next_idle;
      idle_workers.fetch_add(one_searcher - one_sleeper, std::memory_order_seq_cst);
      return;
    }
    // Somebody has just taken it out of the list and rings.
  } else if (closing_.load(std::memory_order_acquire)) {
    went_to_sleep_.fetch_add(1, std::memory_order_release);
    cppless::detail::futex_wake(went_to_sleep_);
  }
  while (self.bell.load(std::memory_order_acquire) == 0) {
    cppless::detail::futex_wait(self.bell, 0);
  }
  self.bell.store(0, std::memory_order_relaxed);
}

void scheduler::wake_one() noexcept {
  processor* woken;
  {
    const std::lock_guard hold(idle_lock_);
    if (idle_ == nullptr) return;
    const bool somebody_searches =
        idle_workers.load(std::memory_order_relaxed) >= one_searcher && !options_.deterministic;
    if (somebody_searches && !stopping_.load(std::memory_order_relaxed)) return;
    woken = std::exchange(idle_, idle_->next_idle);
    if (!options_.deterministic) {
      idle_workers.fetch_add(one_searcher - one_sleeper, std::memory_order_seq_cst);
    }
  }
  woken->bell.store(1, std::memory_order_release);
  cppless::detail::futex_wake(woken->bell);
}

}  // namespace cppless::fiber::detail
