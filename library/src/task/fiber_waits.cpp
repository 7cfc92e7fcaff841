// SPDX-License-Identifier: Apache-2.0
#include "task/fiber_waits.hpp"

#include <algorithm>

#include "trace/progress.hpp"
#include "trace/run_totals.hpp"

// What instance_core does for those that wait without driving.

namespace cppless::detail {

/// A wait for a flag that a job's `publish` sets; with none, for any awaited job.
class instance_core::parked_here final : public parking_place {
 public:
  parked_here(instance_core& core, const std::atomic<bool>* flag) noexcept
      : core_(core), flag_(flag) {}

  bool let_in(parked& who) override {
    who.flag = flag_;
    const std::lock_guard lock(core_.mutex_);
    if (core_.is_there(who)) return false;
    parked** last = &core_.parked_;
    while (*last != nullptr) last = &(*last)->next;
    *last = &who;
    return true;
  }

  bool take_out(parked& who) noexcept override {
    const std::lock_guard lock(core_.mutex_);
    for (parked** at = &core_.parked_; *at != nullptr; at = &(*at)->next) {
      if (*at != &who) continue;
      *at = who.next;
      return true;
    }
    return false;
  }

 private:
  instance_core& core_;
  const std::atomic<bool>* const flag_;
};

bool instance_core::is_there(const parked& who) const noexcept {
  if (closed_) return true;
  return who.flag != nullptr ? who.flag->load(std::memory_order_acquire) : !ready_.empty();
}

fiber_waits* instance_core::parks_caller() const noexcept { return fiber_waits::of_caller(); }

void instance_core::wait_parked(fiber_waits& by, const std::atomic<bool>* flag, time_point until) {
  parked_here place(*this, flag);
  park(by, place, until);
}

bool instance_core::park(fiber_waits& by, parking_place& place, time_point until) {
  if (!by.is_on_fiber() && progress_is_shown()) {
    for (;;) {
      const time_point next = std::min(until, next_progress());
      if (by.wait_at(place, next)) return true;
      if (next == until) return false;
      draw_progress(run_totals::get().finished(), run_totals::get().tasks());
    }
  }
  if (drives_itself()) return by.wait_at(place, until);
  have_driven(by);
  const bool is_woken = by.wait_at(place, until);
  const std::lock_guard lock(mutex_);
  if (--driven_fibers_ == 0) {
    followers_wake_.notify_all();
    if (driving_) interrupt();
  }
  return is_woken;
}

/// For one more fiber; one thread does it for all.
void instance_core::have_driven(fiber_waits& by) {
  {
    const std::lock_guard lock(mutex_);
    if (has_fiber_driver_ || closed_) {
      ++driven_fibers_;
      return;
    }
    ++driven_fibers_;
    has_fiber_driver_ = true;
  }
  try {
    by.start_blocking([](void* of) { static_cast<instance_core*>(of)->drive_for_fibers(); }, this);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --driven_fibers_;
    has_fiber_driver_ = false;
    followers_wake_.notify_all();
    throw;
  }
}

/// Of the fibers that wait for an awaited job as many as have finished, `finished` at most; all that
/// have what they wait for besides.
void instance_core::wake_parked(std::uint64_t finished) noexcept {
  for (parked** at = &parked_; *at != nullptr;) {
    parked* const who = *at;
    const bool takes_one = who->flag == nullptr && !closed_;
    if (!is_there(*who) || (takes_one && finished == 0)) {
      at = &who->next;
      continue;
    }
    if (takes_one) --finished;
    *at = who->next;
    who->wake();  // it may be gone afterwards
  }
}

}  // namespace cppless::detail
