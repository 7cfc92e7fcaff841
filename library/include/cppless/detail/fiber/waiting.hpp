// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What everything that waits is built from: mutexes, channels, futures.
///
///   struct my_event {                       // set once; any number may wait for it
///     spin_lock lock;                       // held for a few instructions, never while waiting
///     wait_queue queue;
///     bool is_set = false;
///
///     void set() {
///       std::unique_lock hold(lock);
///       is_set = true;
///       while (waiter* const first = queue.pop_front()) first->wake();
///     }
///     void wait() {
///       std::unique_lock hold(lock);
///       if (is_set) return;
///       waiter me;
///       queue.push_back(me);
///       hold.unlock();
///       me.wait();                          // a fiber parks; a plain thread sleeps
///     }
///     bool wait_until(time_point deadline) {
///       std::unique_lock hold(lock);
///       if (is_set) return true;
///       waiter me;
///       queue.push_back(me);
///       hold.unlock();
///       if (me.wait_until(deadline)) return true;
///       hold.lock();
///       if (queue.remove(me)) return false;  // nobody has, and nobody will wake us
///       hold.unlock();
///       me.wait();                           // somebody took us out and is about to
///       return true;
///     }
///   };
///
/// The rule behind the last lines: whoever takes a waiter out of the queue wakes it, exactly once,
/// and a waiter leaves its function only if it took itself out or was woken. So what is handed over
/// with a wake-up (a lock, a value: derive from `waiter` to carry it) is never lost to a timeout.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>

#include <cppless/detail/fiber/task.hpp>

namespace cppless::fiber::detail {

using time_point = std::chrono::steady_clock::time_point;

struct fiber_record;
class scheduler;

/// One wait of the fiber or thread that makes it, on whose stack it lives.
///
/// Thread safety: `wake` from anywhere, plain threads and other fibers included; everything else by
/// the one that made it. The waiter may be gone as soon as `wake` has been called.
/// Costs: a parked fiber keeps its stack and costs nothing else; waking it takes tens of
/// nanoseconds, waking a plain thread a system call. After any wait a fiber may be on another
/// thread: do not keep addresses of thread-local variables, `errno` included, across.
class waiter {
 public:
  waiter() = default;
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Returns once `wake` has been called, also if that was before.
  void wait() noexcept;

  /// The same, but gives up at the deadline: false. Whoever still may call `wake` must then be kept
  /// from it, or waited for with a second `wait` (see above).
  bool wait_until(time_point deadline) noexcept;

  /// The same; also gives up when a stop is requested.
  bool wait_until(time_point deadline, const std::stop_token& stop) noexcept;

  /// Ends the wait. Exactly one call per waiter that was offered to anybody.
  void wake() noexcept;

  /// Ends a wait with false, if it has not been ended yet; for timers and stop callbacks. The
  /// caller makes sure that the waiter is still there.
  void give_up() noexcept;

  // Between a queue and its lock.
  waiter* next = nullptr;
  waiter* previous = nullptr;
  bool is_queued = false;

 private:
  friend class scheduler;
  enum state : std::uint32_t { running, fiber_parked, thread_asleep, woken, given_up };

  bool block(const time_point* deadline) noexcept;
  bool block_thread(const time_point* deadline) noexcept;
  bool has_come() noexcept;
  static bool has_come_or_gives_up(bool has_come) noexcept;
  bool commit_to(state blocked) noexcept;

  std::atomic<std::uint32_t> state_{running};
  fiber_record* fiber_ = nullptr;  // of fiber_parked
};

/// Waiters in the order they came. Its user's lock protects it.
class wait_queue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  waiter* front() const noexcept { return first_; }

  void push_back(waiter& who) noexcept {
    who.next = nullptr;
    who.previous = last_;
    who.is_queued = true;
    (last_ != nullptr ? last_->next : first_) = &who;
    last_ = &who;
  }

  /// The one that has waited longest, or null.
  waiter* pop_front() noexcept {
    waiter* const who = first_;
    if (who != nullptr) remove(*who);
    return who;
  }

  /// False if it was not in the queue.
  bool remove(waiter& who) noexcept {
    if (!who.is_queued) return false;
    (who.previous != nullptr ? who.previous->next : first_) = who.next;
    (who.next != nullptr ? who.next->previous : last_) = who.previous;
    who.is_queued = false;
    return true;
  }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

/// For a few instructions between threads. Never held while waiting, calling users' code or making
/// tasks. BasicLockable.
class spin_lock {
 public:
  void lock() noexcept {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]] lock_contended();
  }
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void lock_contended() noexcept;

  std::atomic<bool> held_{false};
};

/// Lets other fibers (or threads) have a turn: the caller goes to the end of the queue.
void yield() noexcept;

/// Fiber-local storage: one pointer of the task that runs, or of the plain thread. `destroy(data)`
/// is called, if `data` is not null, when the task's function has returned, on the fiber that ran
/// it (on the thread, when that ends). The reference holds until the next wait.
local_slot& current_local_slot();

/// Names what runs: the task's address, or that of something of the plain thread. Stays the same
/// over waits; may be used again after the task has ended. For owners of locks, and ids.
const void* current_identity() noexcept;

}  // namespace cppless::fiber::detail
