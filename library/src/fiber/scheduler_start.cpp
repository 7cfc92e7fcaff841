// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <pthread.h>

#include <mutex>
#include <string>

#include <cppless/errors.hpp>

#include "base/fence.hpp"
#include "base/futex.hpp"
#include "fiber/debuggers.hpp"
#include "fiber/overflow.hpp"
#include "fiber/switching.hpp"
#include "fiber/task_waits.hpp"

// Of the C++ ABI; libc++abi has it too, but its header does not say so.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace cppless::fiber::detail {

namespace {

std::atomic<scheduler*> the_running{nullptr};

}  // namespace

scheduler* scheduler::running() noexcept { return the_running.load(std::memory_order_acquire); }

scheduler::scheduler(const scheduler_options& options)
    : options_(options), stacks_(std::in_place, options.stack_size), random_(options.seed) {
  scheduler* none = nullptr;
  if (!the_running.compare_exchange_strong(none, this)) {
    throw rejected("a cppless::fiber::runtime is there already, and there is only one at a time");
  }
  show_debuggers(&stacks_->known());
  timers_.emplace(options.deterministic ? timers::time::is_virtual : timers::time::real);
  helpers_.emplace();
  owners_need_fences.store(!cppless::detail::register_for_heavy_fences(),
                           std::memory_order_relaxed);
  report_overflows();
  cppless::detail::fiber_waits::install(task_waits());
  cppless::detail::nesting_limit::ask(&stack_for_values);
  idle_workers.store(options.deterministic ? always_call : 0, std::memory_order_seq_cst);
  threads_.reserve(options.workers);
  try {
    for (unsigned i = 0; i < options.workers; ++i) {
      threads_.emplace_back([this] { run_worker(static_cast<processor&>(current_or_attached())); });
    }
  } catch (...) {
    close(wait_for_parked::no);
    end();
    throw;
  }
}

void scheduler::end() noexcept {
  show_debuggers(nullptr);
  the_running.store(nullptr, std::memory_order_release);
  helpers_.reset();
  timers_.reset();
  stacks_.reset();
}

void scheduler::run_worker(processor& self) noexcept {
  const signal_stack for_overflows;
  self.of = this;
  self.exceptions = reinterpret_cast<exceptions_in_flight*>(abi::__cxa_get_globals());
  ::pthread_setname_np(::pthread_self(), "cppless-fiber");
  adopt_thread_stack(self.native);
  switch_to(self, fresh_stack(self), {});
  while (self.spare != nullptr) {
    fiber_record& unused = *self.spare;
    self.spare = unused.next;
    stacks_->release(unused);
  }
  self.spares = 0;
  self.stack_low = 0;
  self.of = nullptr;
}

void scheduler::inject(task& made) {
  {
    const std::lock_guard hold(injection_lock_);
    injected_tasks_.push_back(&made);
    injected_count_.store(injected_tasks_.size(), std::memory_order_release);
  }
  work_is_visible();
}

/// While all workers sleep nothing of what is looked at changes but by other threads.
bool scheduler::is_drained(wait_for_parked all) noexcept {
  std::size_t asleep = 0, stacks = 0;
  const std::lock_guard hold(idle_lock_);
  for (const processor* each = idle_; each != nullptr; each = each->next_idle) {
    ++asleep;
    stacks += 1 + each->spares;
  }
  return asleep == threads_.size() && !is_any_work() &&
         (all == wait_for_parked::no || stacks_->in_use() == stacks);
}

void scheduler::close(wait_for_parked all) {
  closing_.store(true, std::memory_order_release);
  for (;;) {
    const std::uint32_t seen = went_to_sleep_.load(std::memory_order_acquire);
    cppless::detail::heavy_fence();
    if (is_drained(all)) break;
    cppless::detail::futex_wait(went_to_sleep_, seen, 10'000'000);
  }
  stopping_.store(true, std::memory_order_release);
  for (std::size_t i = 0; i < threads_.size(); ++i) wake_one();
  for (std::thread& each : threads_) each.join();
  idle_workers.store(always_call, std::memory_order_seq_cst);
}

}  // namespace cppless::fiber::detail
