// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "fiber/fiber_instance.hpp"
#include "task/described_exception.hpp"

// Not by fibers: all workers may be busy, or blocked, when a task's time is up.

namespace cppless::fiber::detail {

/// With the lock held.
void fiber_instance::keep_limit(const limit& added) {
  if (!limits_thread_.joinable()) limits_thread_ = std::thread([this] { watch_limits(); });
  limits_.push(added);
  limits_changed_.notify_one();
}

void fiber_instance::limit_run(const cppless::detail::entry& what, std::uint64_t timeout_ns,
                               task_id id) {
  const std::lock_guard lock(mutex_);
  if (ends_limits_) return;
  keep_limit({cppless::detail::now_ns() + timeout_ns, id, limit::kind::timeout, timeout_ns, &what});
}

void fiber_instance::watch_limits() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ::pthread_setname_np(::pthread_self(), "cppless-limits");
  std::unique_lock lock(mutex_);
  while (!ends_limits_) {
    if (limits_.empty()) {
      limits_changed_.wait(lock);
      continue;
    }
    const limit next = limits_.top();
    const std::uint64_t now = cppless::detail::now_ns();
    if (next.at_ns > now) {
      limits_changed_.wait_for(lock, std::chrono::nanoseconds(next.at_ns - now));
      continue;
    }
    limits_.pop();
    lock.unlock();
    give_up(next.id,
            {error_kind::timeout,
             next.of == limit::kind::timeout
                 ? cppless::detail::timeout_text(next.what->name(), next.limit_ns)
                 : "task " + std::to_string(next.id) + " did not finish within its deadline of " +
                       std::to_string(next.limit_ns / 1'000'000'000) + " s"});
    lock.lock();
  }
}

void fiber_instance::end_limits() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ends_limits_ = true;
  }
  limits_changed_.notify_one();
  if (limits_thread_.joinable()) limits_thread_.join();
}

}  // namespace cppless::fiber::detail
