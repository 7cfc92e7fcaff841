// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/task_group.hpp>

#include <mutex>

namespace cppless::fiber {

task_group::~task_group() {
  while (pending_.load(std::memory_order_acquire) != 0) {
    run_own();
    wait_for_others();
  }
}

void task_group::wait() {
  while (pending_.load(std::memory_order_acquire) != 0) {
    run_own();
    wait_for_others();
  }
  std::exception_ptr error;
  {
    const std::lock_guard hold(lock_);
    std::swap(error, error_);
  }
  if (error) std::rethrow_exception(error);
}

/// Calls what the caller itself has put on top of its deque, as long as that belongs to the group:
/// anything else might wait for what comes after `wait`.
void task_group::run_own() noexcept {
  std::uint32_t ran = 0;
  for (detail::worker* self = detail::current();
       self != nullptr && detail::stack_pointer() > self->stack_low; self = detail::current()) {
    detail::task* const last = self->tasks.pop();
    if (last == nullptr) break;
    if (last->state.load(std::memory_order_relaxed) != reinterpret_cast<std::uintptr_t>(this)) {
      detail::submit(*self, *last);
      break;
    }
    detail::task* const outer = self->current;
    self->current = last;
    last->kind->run(*last);
    if (last->locals != nullptr) detail::destroy_locals(*last);
    detail::current()->current = outer;
    last->kind->destroy(*last);
    ++ran;
  }
  if (ran != 0) ended(ran);
}

void task_group::wait_for_others() noexcept {
  detail::waiter me;
  waiting_ = &me;
  std::uint32_t before = pending_.load(std::memory_order_acquire);
  do {
    if (before == 0) return;
  } while (!pending_.compare_exchange_weak(before, before | somebody_waits,
                                           std::memory_order_acq_rel));
  me.wait();
}

/// The group may be gone afterwards.
void task_group::ended(std::uint32_t count) noexcept {
  std::uint32_t left = pending_.fetch_sub(count, std::memory_order_acq_rel) - count;
  // Only one takes the mark away, should tasks be added at this very moment.
  if (left == somebody_waits && pending_.compare_exchange_strong(left, 0)) waiting_->wake();
}

void task_group::keep(std::exception_ptr error) noexcept {
  const std::lock_guard hold(lock_);
  if (!error_) error_ = std::move(error);
}

void task_group::request_stop() {
  is_stopped_.store(true, std::memory_order_relaxed);
  std::stop_source source(std::nostopstate);
  {
    const std::lock_guard hold(lock_);
    source = stop_;
  }
  source.request_stop();
}

std::stop_token task_group::get_token() {
  const std::lock_guard hold(lock_);
  if (!stop_.stop_possible()) {
    stop_ = std::stop_source();
    if (is_stopped_.load(std::memory_order_relaxed)) stop_.request_stop();
  }
  return stop_.get_token();
}

}  // namespace cppless::fiber
