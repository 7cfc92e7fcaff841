// SPDX-License-Identifier: Apache-2.0
#include "fiber/timers.hpp"

#include <algorithm>

#include "base/futex.hpp"

namespace cppless::fiber::detail {

timers::~timers() {
  {
    const std::lock_guard hold(mutex_);
    ending_ = true;
  }
  changes_.fetch_add(1);
  cppless::detail::futex_wake(changes_);
  if (thread_.joinable()) thread_.join();
}

void timers::add(timer& made, time_point deadline) {
  const std::lock_guard hold(mutex_);
  made.place = waiting_.emplace(deadline, &made);
  made.is_pending = true;
  if (kind_ == time::real) {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    if (made.place == waiting_.begin()) {
      changes_.fetch_add(1);
      cppless::detail::futex_wake(changes_);
    }
  }
}

void timers::remove(timer& made) noexcept {
  const std::lock_guard hold(mutex_);
  if (made.is_pending) waiting_.erase(made.place);
}

time_point timers::now() noexcept {
  if (kind_ == time::real) return std::chrono::steady_clock::now();
  const std::lock_guard hold(mutex_);
  return virtual_now_;
}

bool timers::fire_earliest() noexcept {
  const std::lock_guard hold(mutex_);
  if (waiting_.empty()) return false;
  const time_point earliest = waiting_.begin()->first;
  while (!waiting_.empty() && waiting_.begin()->first == earliest) fire_first();
  return true;
}

/// With the mutex held, so that the waiter stays until it has been told.
void timers::fire_first() noexcept {
  virtual_now_ = std::max(virtual_now_, waiting_.begin()->first);
  timer& first = *waiting_.begin()->second;
  waiting_.erase(waiting_.begin());
  first.is_pending = false;
  first.who.give_up();
}

void timers::run() noexcept {
  for (;;) {
    const std::uint32_t seen = changes_.load();
    std::uint64_t sleep_ns = 0;  // without end
    {
      const std::lock_guard hold(mutex_);
      if (ending_) return;
      const auto now = std::chrono::steady_clock::now();
      while (!waiting_.empty() && waiting_.begin()->first <= now) fire_first();
      if (!waiting_.empty()) {
        sleep_ns = static_cast<std::uint64_t>((waiting_.begin()->first - now).count());
      }
    }
    cppless::detail::futex_wait(changes_, seen, sleep_ns);
  }
}

}  // namespace cppless::fiber::detail
