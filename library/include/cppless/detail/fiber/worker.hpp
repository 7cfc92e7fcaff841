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
inline void submit(worker& self, task& made) {
  self.tasks.push(made);
  owner_fence();
  if (idle_workers.load(std::memory_order_relaxed) - 1 < always_call) [[unlikely]] {
    submitted_while_idle();
  }
}

/// Destroys what the task put into fiber-local storage.
void destroy_locals(task& of) noexcept;

/// Calls a task that was taken out of a deque, on the caller's stack.
inline void run_in_place(worker& self, task& taken) noexcept {
  task* const outer = self.current;
  self.current = &taken;
  taken.kind->run(taken);
  if (taken.locals.data != nullptr) [[unlikely]] destroy_locals(taken);
  current()->current = outer;  // maybe another thread's by now
}

/// Whether the stack has room for one more task.
inline bool has_stack(const worker& self) noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > self.stack_low;
}

/// Waits until `wanted` is done, which is not in the caller's deque, or may not be called in place.
void wait_until_done(task& wanted) noexcept;

/// Returns when `wanted` is done. If nobody has begun it, it is called here and now.
inline void run_or_wait(task& wanted) noexcept {
  worker* const self = current();
  if (self != nullptr && has_stack(*self) && self->tasks.take(wanted)) [[likely]] {
    run_in_place(*self, wanted);
    if (wanted.flags & task::may_be_shared) {
      wanted.complete();
    } else {
      wanted.state.store(task::done, std::memory_order_relaxed);
    }
  } else if (!wanted.is_done()) {
    wait_until_done(wanted);
  }
}

}  // namespace cppless::fiber::detail
