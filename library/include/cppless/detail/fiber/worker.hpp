// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cppless/detail/fiber/blocks.hpp>
#include <cppless/detail/fiber/deque.hpp>
#include <cppless/detail/fiber/task.hpp>

namespace cppless::fiber::detail {

/// What a thread has once it has to do with fibers, be it one of the runtime's workers or not.
/// Belongs to its thread; others only steal from `tasks`.
struct worker {
  task_deque tasks;
  task* current = nullptr;            // what runs; null on a plain thread outside of tasks
  std::uintptr_t stack_low = 0;       // with the stack below this, no task is called in place
  block_lists blocks;
};

}  // namespace cppless::fiber::detail

/// C linkage for the assembly in `current`.
extern "C" constinit thread_local cppless::fiber::detail::worker* cppless_fiber_worker
    __attribute__((tls_model("initial-exec")));

namespace cppless::fiber::detail {

#if defined(__x86_64__)
/// The calling thread's; null if it never had to do with fibers. Read anew each time: a fiber may
/// go on on another thread after any wait, and compilers believe that a thread's variables stay
/// where they are within a function. Hence assembly, or a call where there is none.
[[gnu::always_inline]] inline worker* current() noexcept {
  worker* result;
  asm volatile(
      "movq cppless_fiber_worker@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(result)
      :
      : "memory");
  return result;
}
#else
worker* current() noexcept;
#endif

/// Makes one for a thread that has none.
worker& attach_thread();

inline worker& current_or_attached() {
  worker* const self = current();
  return self != nullptr ? *self : attach_thread();
}

/// Sleeping workers in the low half, searching ones in the high half. Somebody has to be woken for
/// new work if there are sleepers and no searchers: one comparison. `0xffff` sleepers stand for
/// whatever else wants to be called on new work: no runtime yet, or a deterministic one.
inline constinit std::atomic<std::uint32_t> idle_workers{0xffff};
inline constexpr std::uint32_t one_sleeper = 1, one_searcher = 0x10000, always_call = 0xffff;

/// Whoever made work visible calls this.
void wake_a_worker() noexcept;

inline void work_is_visible() noexcept {
  owner_fence();
  if (idle_workers.load(std::memory_order_relaxed) - 1 < always_call) [[unlikely]] wake_a_worker();
}

/// The part of `submit` for when somebody sleeps. May throw what starting the runtime throws.
void submitted_while_idle();

/// Hands `made` to whoever is free: to the caller itself, if it waits for it before others are.
[[gnu::always_inline]] inline void submit(worker& self, task& made) {
  self.tasks.push(made);
  owner_fence();
  if (idle_workers.load(std::memory_order_relaxed) - 1 < always_call) [[unlikely]] {
    submitted_while_idle();
  }
}

/// Destroys what the task has put into fiber-local storage.
void destroy_locals(task& of) noexcept;

[[gnu::always_inline]] inline std::uintptr_t stack_pointer() noexcept {
  std::uintptr_t result;
#if defined(__x86_64__)
  asm volatile("movq %%rsp, %0" : "=r"(result));
#elif defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(result));
#endif
  return result;
}

/// Takes `wanted` out of the caller's deque to call it in place: if it is there, and the stack has
/// room for it.
[[gnu::always_inline]] inline bool take_in_place(worker* self, task& wanted) noexcept {
  return self != nullptr && stack_pointer() > self->stack_low && self->tasks.take(wanted);
}

/// Waits until `wanted` is done: another's, or one that may not be called in place, or a deferred
/// one, which is called now.
void wait_until_done(task& wanted) noexcept;

/// Runs a task that was taken out of a deque, or is deferred, on the caller's stack.
void run_in_place(task& taken) noexcept;

/// Returns when `wanted` is done. If nobody has begun it, it is called here and now.
inline void run_or_wait(task& wanted) noexcept {
  if (take_in_place(current(), wanted)) {
    run_in_place(wanted);
  } else if (!wanted.is_done()) {
    wait_until_done(wanted);
  }
}

/// One less refers to it.
inline void release_task(task& of) noexcept {
  // Nobody can add to the last reference, so the one that sees it alone needs no exchange.
  if (of.references.load(std::memory_order_acquire) == 1 ||
      of.references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    of.kind->destroy(of);
  }
}

}  // namespace cppless::fiber::detail
