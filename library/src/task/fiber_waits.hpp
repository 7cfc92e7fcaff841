// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <utility>

#include <cppless/detail/task/future_state.hpp>
#include <cppless/detail/task/instance_core.hpp>

namespace cppless::detail {

/// One wait of a fiber, or of a thread, for a task; lives on its stack.
class parked {
 public:
  /// Ends the wait. Once for each that was let in and has not been taken out again.
  virtual void wake() noexcept = 0;

  parked* next = nullptr;                    ///< Of those in the same place.
  const std::atomic<bool>* flag = nullptr;   ///< What it waits for, where there are several.

 protected:
  ~parked() = default;
};

/// What a wait is for.
class parking_place {
 public:
  /// False if there is nothing left to wait for; else `who` is woken, once.
  virtual bool let_in(parked& who) = 0;
  /// False if `who` was woken already, or is being woken this moment.
  virtual bool take_out(parked& who) noexcept = 0;

 protected:
  ~parking_place() = default;
};

/// How fibers wait, which this room knows nothing else of: the fiber room installs it with the first
/// thread that has to do with fibers. Thread-safe.
class fiber_waits {
 public:
  /// Null on plain threads: there a wait blocks the thread.
  static fiber_waits* of_caller() noexcept {
    fiber_waits* const known = installed_.load(std::memory_order_acquire);
    return known != nullptr && known->is_on_fiber() ? known : nullptr;
  }
  static fiber_waits* installed() noexcept { return installed_.load(std::memory_order_acquire); }
  static void install(fiber_waits& known) noexcept {
    installed_.store(&known, std::memory_order_release);
  }

  virtual bool is_on_fiber() const noexcept = 0;

  /// Parks the calling fiber (blocks a plain thread) until it is woken; false if `until` came first.
  virtual bool wait_at(parking_place& place, time_point until) = 0;

  /// Calls `function(of)` on a thread for such calls. The calling fiber parks meanwhile.
  virtual void call_blocking(void (*function)(void*), void* of) = 0;

  /// The same without waiting for it.
  virtual void start_blocking(void (*function)(void*), void* of) = 0;

  /// Lets other fibers have a turn.
  virtual void yield() noexcept = 0;

  /// Of the dispatched task that runs on the calling fiber; null if that is none.
  virtual update_scope* updates_of_caller() const noexcept = 0;

 protected:
  ~fiber_waits() = default;

 private:
  static inline constinit std::atomic<fiber_waits*> installed_{nullptr};
};

/// A wait for a future.
class at_future final : public parking_place {
 public:
  explicit at_future(future_state_base& awaited) noexcept : awaited_(awaited) {}

  bool let_in(parked& who) override { return awaited_.let_in(who); }
  bool take_out(parked& who) noexcept override { return awaited_.take_out(who); }

 private:
  future_state_base& awaited_;
};

/// Calls `function` where it may block: on the caller's thread unless that runs fibers.
template <class F>
void call_blocking(F&& function) {
  if (fiber_waits* const fibers = fiber_waits::of_caller()) {
    fibers->call_blocking([](void* of) { (*static_cast<std::remove_reference_t<F>*>(of))(); },
                          &function);
  } else {
    function();
  }
}

}  // namespace cppless::detail
