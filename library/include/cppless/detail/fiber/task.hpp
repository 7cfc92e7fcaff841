// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cppless/detail/fiber/deque.hpp>

namespace cppless::fiber::detail {

/// What the templates know about a task. One constant per type of task.
struct task_kind {
  /// Calls the function and keeps what it returns or throws. Tells nobody.
  void (*run)(task&) noexcept;
  /// Runs it for others: `run`, then whoever waits is told. The task may be gone afterwards.
  void (*execute)(task&) noexcept;
  /// Destroys the function of a task that never runs.
  void (*drop)(task&) noexcept;
  /// Names the function's type, for people: what __PRETTY_FUNCTION__ says of a template over it.
  const char* name;
};

/// Told when a task is done. Lives with whoever listens.
struct listener {
  listener* next = nullptr;
  void (*notify)(listener&) noexcept = nullptr;
};

/// One value per task for fiber-local storage: destroyed with the task's function.
struct local_slot {
  void* data = nullptr;
  void (*destroy)(void* data) noexcept = nullptr;
};

/// A task and its future's shared state, in one block: this header, the result, the function.
struct task {
  enum flag : std::uint8_t {
    waits_in_destructor = 1,  // the last future waits, as that of std::async does
    may_be_shared = 2,        // others than the one future may be listening
    holds_function = 4,
    future_taken = 8,
  };
  /// States; any other value is the list of listeners of a task that is not done.
  static constexpr std::uintptr_t pending = 0, done = 1, deferred = 2;

  const task_kind* kind = nullptr;
  std::atomic<std::uintptr_t> state{pending};
  std::atomic<deque_index> index{-1};
  std::atomic<std::uint32_t> references{1};
  std::atomic<bool> locked{false};     // the list of listeners, while somebody takes itself out
  std::atomic<bool> satisfied{false};  // promises: somebody has begun to set the result
  std::uint8_t flags = 0;
  local_slot locals;

  bool is_done() const noexcept { return state.load(std::memory_order_acquire) == done; }

  /// False if it is done already; else `who` will be told once, on the thread that finishes it.
  bool listen(listener& who) noexcept;
  /// Takes `who` back. False if it has been told, or is being told this moment.
  bool stop_listening(listener& who) noexcept;
  /// The result is there: tells all listeners. The task may be gone afterwards.
  void complete() noexcept;

 private:
  void lock() noexcept;
  void unlock() noexcept { locked.store(false, std::memory_order_release); }
};

inline void task_deque::push(task& pushed) noexcept {
  const deque_index bottom = bottom_.load(std::memory_order_relaxed);
  if (bottom == full_at_) [[unlikely]] make_room();
  pushed.index.store(bottom, std::memory_order_relaxed);
  slot(bottom).store(&pushed, std::memory_order_relaxed);
  bottom_.store(bottom + 1, std::memory_order_release);
}

inline bool task_deque::take(task& wanted) noexcept {
  const deque_index last = bottom_.load(std::memory_order_relaxed) - 1;
  const deque_index index = wanted.index.load(std::memory_order_relaxed);
  if (index > last || slot(index).load(std::memory_order_relaxed) != &wanted) return false;
  bottom_.store(index, std::memory_order_relaxed);
  owner_fence();
  if (top_.load(std::memory_order_relaxed) < index && index == last) [[likely]] return true;
  return take_or_restore(index, last);
}

}  // namespace cppless::fiber::detail
