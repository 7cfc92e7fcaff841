// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "process/pool.hpp"

namespace cppless::detail {

void pool::fail_all(job_list failed, const failure& reason) {
  if (failed.empty()) return;
  job_list settled;
  while (!failed.empty()) {
    std::unique_ptr<job> each = failed.pop_front();
    settle(*each, reason);
    settled.push_back(std::move(each));
  }
  publish(std::move(settled), false);
}

// The job in the slot if no worker has taken it yet; the slot is free then.
std::unique_ptr<job> pool::take_unstarted(std::uint32_t slot) {
  flight& entry = flights_[slot];
  if (entry.what == nullptr) return nullptr;
  std::uint64_t ready = slot_state{slot_phase::ready, 0, entry.generation}.packed();
  const std::uint64_t free = slot_state{slot_phase::free, 0, entry.generation}.packed();
  if (!control_->slots[slot].state.compare_exchange_strong(ready, free)) return nullptr;
  std::unique_ptr<job> taken = std::move(entry.what);
  free_slot(slot);
  add_stale_entry();
  return taken;
}

// Kills the worker that runs the job in the slot. False if none does.
bool pool::end_worker_of(std::uint32_t slot, const failure& verdict) {
  const slot_state state = slot_state::unpack(control_->slots[slot].state.load());
  if (state.phase != slot_phase::taken || state.worker >= max_workers) return false;
  if (!workers_[state.worker].process.is_running() || is_reported(slot)) return false;
  flights_[slot].verdict = std::make_unique<const failure>(verdict);
  workers_[state.worker].process.kill();
  return true;
}

// Ends all jobs that a task dispatched which is no more.
void pool::stop_children(std::uint64_t parent) {
  const failure reason{error_kind::cancelled, "the task that dispatched it has ended"};
  job_list stopped;
  {
    const std::lock_guard lock(mutex_);
    for (auto& each : nested_) {
      if (each->parent == parent) stopped.push_back(std::move(each));
    }
    std::erase(nested_, nullptr);
    for (std::uint32_t slot = 0; slot < slot_count; ++slot) {
      if (flights_[slot].what == nullptr || flights_[slot].what->parent != parent) continue;
      std::unique_ptr<job> waiting = take_unstarted(slot);
      if (waiting != nullptr) {
        stopped.push_back(std::move(waiting));
      } else {
        end_worker_of(slot, reason);
      }
    }
  }
  fail_all(std::move(stopped), reason);
}

// Ends the first job that matches with `verdict`: at once if it does not run yet, else by killing
// its worker, whose death the supervisor then puts down to the verdict.
template <class Predicate>
bool pool::stop(Predicate matches, const failure& verdict) {
  job_list stopped;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<job> waiting = queue_.take_first(matches);
    if (waiting == nullptr) {
      const auto found = std::find_if(nested_.begin(), nested_.end(),
                                      [&](const auto& each) { return matches(*each); });
      if (found != nested_.end()) {
        waiting = std::move(*found);
        nested_.erase(found);
      }
    }
    for (std::uint32_t index = 0; index < slot_count && waiting == nullptr; ++index) {
      flight& entry = flights_[index];
      if (entry.what == nullptr || !matches(*entry.what)) continue;
      waiting = take_unstarted(index);
      if (waiting == nullptr) return end_worker_of(index, verdict);
    }
    if (waiting == nullptr) return false;
    stopped.push_back(std::move(waiting));
  }
  fail_all(std::move(stopped), verdict);
  return true;
}

bool pool::stop(task_id id, const failure& verdict) {
  return stop([id](const job& each) { return each.statistics.id == id; }, verdict);
}

bool pool::stop_nested(std::uint64_t parent, std::uint64_t local_id) {
  return stop(
      [=](const job& each) { return each.parent == parent && each.parent_local_id == local_id; },
      {error_kind::cancelled, "the task was cancelled by the task that dispatched it"});
}

bool pool::cancel(task_id id) {
  return stop(id, {error_kind::cancelled, "task " + std::to_string(id) + " was cancelled"});
}

// Stops what is overdue. Returns the time until the next deadline in ns, 0 if there is none.
std::uint64_t pool::expire_deadlines() {
  for (;;) {
    deadline next{};
    {
      const std::lock_guard lock(mutex_);
      if (deadlines_.empty()) return 0;
      next = deadlines_.top();
      const std::uint64_t now = now_ns();
      if (next.at_ns > now) return next.at_ns - now;
      deadlines_.pop();
    }
    stop(next.id, {error_kind::timeout, "task " + std::to_string(next.id) +
                                            " did not finish within its deadline of " +
                                            std::to_string(next.limit_ns / 1'000'000'000) + " s"});
  }
}

}  // namespace cppless::detail
