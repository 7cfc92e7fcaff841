// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/worker.hpp>

#include <pthread.h>

#include <memory>
#include <utility>

#include <cppless/detail/fiber/function_task.hpp>

#include "fiber/processor.hpp"
#include "fiber/scheduler.hpp"

constinit thread_local cppless::fiber::detail::worker* cppless_fiber_worker = nullptr;

namespace cppless::fiber::detail {

namespace {

std::atomic<processor*> all_processors{nullptr};

processor& acquire_processor() {
  for (processor* each = known_processors(); each != nullptr; each = each->next_known) {
    bool free = false;
    if (each->in_use.compare_exchange_strong(free, true, std::memory_order_acquire)) return *each;
  }
  processor* const made = new processor;
  made->next_known = all_processors.load(std::memory_order_relaxed);
  while (!all_processors.compare_exchange_weak(made->next_known, made,
                                               std::memory_order_release)) {
  }
  return *made;
}

/// The lowest address of a plain thread's stack down to which tasks are called in place.
std::uintptr_t lowest_of_thread() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  void* low = nullptr;
  std::size_t size = 0;
  ::pthread_attr_getstack(&attributes, &low, &size);
  ::pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(low) + size / 2;
}

/// Gives a thread's processor back when it ends. Tasks that it has made and nobody has begun go to
/// the runtime.
struct attachment {
  processor* held = nullptr;

  ~attachment() {
    if (held == nullptr) return;
    if (held->thread_locals.data != nullptr) held->thread_locals.destroy(held->thread_locals.data);
    held->thread_locals = {};
    while (task* const left = held->tasks.pop()) scheduler::running_or_started().inject(*left);
    cppless_fiber_worker = nullptr;
    held->in_use.store(false, std::memory_order_release);
  }
};

}  // namespace

processor* known_processors() noexcept { return all_processors.load(std::memory_order_acquire); }

worker& attach_thread() {
  static thread_local attachment mine;
  mine.held = &acquire_processor();
  mine.held->stack_low = lowest_of_thread();
  cppless_fiber_worker = mine.held;
  return *mine.held;
}

#if !defined(__x86_64__)
[[gnu::noinline]] worker* current() noexcept {
  worker* result = cppless_fiber_worker;
  asm volatile("" : "+r"(result) : : "memory");
  return result;
}
#endif

void wake_a_worker() noexcept {
  if (scheduler* const running = scheduler::running()) running->wake_one();
}

void submitted_while_idle() {
  scheduler& running = scheduler::running_or_started();
  processor* const mine = static_cast<processor*>(current());
  if (running.options().deterministic && mine->of == &running) {
    running.maybe_yield(*mine);
  } else {
    running.wake_one();
  }
}

void destroy_locals(task& of) noexcept {
  while (of.locals != nullptr) {  // destructors may ask for values of their own
    const std::unique_ptr<local_slot> slot(std::exchange(of.locals, nullptr));
    if (slot->data != nullptr) slot->destroy(slot->data);
  }
}

void finish(task& ran) noexcept {
  if (ran.locals != nullptr) destroy_locals(ran);
  const bool is_ours = ran.flags & task::runner_refers;
  ran.complete();
  if (is_ours) release_task(ran);
}

void run_in_place(task& taken) noexcept {
  worker& self = current_or_attached();
  task* const outer = self.current;
  self.current = &taken;
  taken.kind->execute(taken);
  current()->current = outer;
}

}  // namespace cppless::fiber::detail
