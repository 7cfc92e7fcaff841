// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cppless/detail/fiber/deque.hpp>

namespace cppless::fiber::detail {

/// What is known of a kind of task at run time. One constant for each.
struct task_kind {
  /// Calls the function and keeps what it returns or throws. Tells nobody.
  void (*run)(task&) noexcept;
  /// For a worker: `run`, then whoever waits is told. The task may be gone afterwards.
  void (*execute)(task&) noexcept;
  /// Destroys the task, its result, and its function if that was never called.
  void (*destroy)(task&) noexcept;
  /// Names the function's type, for people: what __PRETTY_FUNCTION__ says of a template over it.
  const char* name;
};

/// Told when a task is done. Lives with whoever listens.
struct listener {
  listener* next = nullptr;
  void (*notify)(listener&) noexcept = nullptr;
};

/// One value per task for fiber-local storage.
struct local_slot {
  void* data = nullptr;
  void (*destroy)(void* data) noexcept = nullptr;
};

/// A task and its future's shared state, in one block: this header, the result, the function. What
/// is written when a task is made is what the header costs, so it is short.
struct task {
  enum flag : std::uint8_t {
    waits_in_destructor = 1,  // the last future waits, as that of std::async does
    runner_refers = 2,        // whoever runs it has a reference to give back
  };
  enum class outcome : std::uint8_t { none, not_called, value, error };
  /// States; any other value is the list of listeners of a task that is not done.
  static constexpr std::uintptr_t pending = 0, done = 1, deferred = 2;

  task(const task_kind& of, outcome so_far) noexcept : kind(&of), result(so_far) {}

  const task_kind* kind;
  std::atomic<std::uintptr_t> state{pending};
  std::atomic<deque_index> index{-1};
  local_slot* locals = nullptr;  // made when first asked for
  std::atomic<std::uint32_t> references{1};
  enum mark : std::uint8_t { locked = 1, satisfied = 2 };
  std::atomic<std::uint8_t> marks{0};
  outcome result;             // written by who runs it
  std::uint8_t flags = 0;     // not changed once others know the task
  bool may_be_shared = false;  // written by the holder of the one future, if that is given up

  bool is_done() const noexcept { return state.load(std::memory_order_acquire) == done; }

  /// Not of a deferred one. False if it is done already; else `who` will be told once, on the
  /// thread that finishes it.
  bool listen(listener& who) noexcept;
  /// Takes `who` back. False if it has been told, or is being told this moment.
  bool stop_listening(listener& who) noexcept;
  /// Has a worker run a deferred one, as there is nobody to wait for it.
  void start_if_deferred();
  /// For promises: whether the caller is the first to set the result.
  bool satisfy() noexcept {
    return !(marks.fetch_or(satisfied, std::memory_order_acq_rel) & satisfied);
  }
  /// The result is there: tells all listeners. The task may be gone afterwards.
  void complete() noexcept;

 private:
  void lock() noexcept;
  void unlock() noexcept { marks.fetch_and(satisfied, std::memory_order_release); }
};

[[gnu::always_inline]] inline void task_deque::push(task& pushed) noexcept {
  const deque_index bottom = bottom_.load(std::memory_order_relaxed);
  if (bottom == full_at_) [[unlikely]] make_room();
  pushed.index.store(bottom, std::memory_order_relaxed);
  slot(bottom).store(&pushed, std::memory_order_relaxed);
  bottom_.store(bottom + 1, std::memory_order_release);
}

[[gnu::always_inline]] inline bool task_deque::take(task& wanted) noexcept {
  const deque_index last = bottom_.load(std::memory_order_relaxed) - 1;
  const deque_index index = wanted.index.load(std::memory_order_relaxed);
  if (index > last || slot(index).load(std::memory_order_relaxed) != &wanted) return false;
  bottom_.store(index, std::memory_order_relaxed);
  owner_fence();
  if (top_.load(std::memory_order_relaxed) < index && index == last) [[likely]] return true;
  return take_or_restore(index, last);
}

}  // namespace cppless::fiber::detail
