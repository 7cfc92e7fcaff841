// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/waits.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <cppless/errors.hpp>
#include <cppless/fiber/blocking.hpp>
#include <cppless/fiber/continuations.hpp>
#include <cppless/fiber/promise.hpp>

#include "base/clock.hpp"
#include "fiber/scheduler.hpp"

namespace cppless::fiber::detail {

namespace {

struct done_waiter : listener, waiter {
  done_waiter() {
    notify = [](listener& told) noexcept { static_cast<done_waiter&>(told).wake(); };
  }
};

}  // namespace

void wait_until_done(task& wanted) noexcept {
  std::uintptr_t expected = wanted.state.load(std::memory_order_acquire);
  if (expected == task::deferred &&
      wanted.state.compare_exchange_strong(expected, task::pending, std::memory_order_acq_rel)) {
    run_in_place(wanted);
    return;
  }
  done_waiter me;
  if (wanted.listen(me)) me.wait();
}

bool wait_until_done(task& wanted, time_point deadline, const std::stop_token& stop) noexcept {
  done_waiter me;
  if (!wanted.listen(me) || me.wait_until(deadline, stop)) return true;
  if (wanted.stop_listening(me)) return false;
  me.wait();
  return true;
}

time_point current_time() noexcept {
  const processor* const mine = static_cast<const processor*>(current());
  const bool is_by_seed = mine != nullptr && mine->of != nullptr &&
                          mine->of->options().deterministic;
  return is_by_seed ? mine->of->clock().now() : std::chrono::steady_clock::now();
}

bool sleep_until(time_point deadline, const std::stop_token& stop) noexcept {
  if (stop.stop_requested()) return false;
  waiter me;
  me.wait_until(deadline, stop);
  return !stop.stop_requested();
}

std::size_t wait_for_any(const std::vector<task*>& tasks) {
  constexpr std::size_t none = SIZE_MAX;
  struct one : listener {
    std::atomic<std::size_t>* first;
    waiter* who;
    std::size_t index;
    std::atomic<bool> was_told{false};
  };
  std::atomic<std::size_t> first{none};
  waiter me;
  const auto all = std::make_unique<one[]>(tasks.size());
  bool found = false;
  std::size_t listened = 0;
  for (; listened < tasks.size() && !found; ++listened) {
    one& each = all[listened];
    each.first = &first;
    each.who = &me;
    each.index = listened;
    each.notify = [](listener& told) noexcept {
      one& mine = static_cast<one&>(told);
      std::size_t expected = none;
      if (mine.first->compare_exchange_strong(expected, mine.index)) mine.who->wake();
      mine.was_told.store(true, std::memory_order_release);
    };
    tasks[listened]->start_if_deferred();
    if (!tasks[listened]->listen(each)) {
      each.notify(each);
      found = true;
    }
  }
  me.wait();
  // Whoever is telling another one this moment must have ended before the list goes.
  for (std::size_t i = 0; i < listened; ++i) {
    if (tasks[i]->stop_listening(all[i])) continue;
    for (int turn = 0; !all[i].was_told.load(std::memory_order_acquire); ++turn) {
      cppless::detail::spin_turn(turn);
    }
  }
  return first.load();
}

bool is_on_fiber() noexcept {
  const processor* const mine = static_cast<const processor*>(current());
  return mine != nullptr && mine->fiber != nullptr;
}

void run_on_helper(task& made) { this_processor().of->run_on_helper(made); }

void throw_future_error(std::future_errc code) { throw std::future_error(code); }

std::exception_ptr broken_promise() {
  return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
}

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw cancelled("a stop was requested before the task began");
}

void throw_no_policy() {
  throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                          "cppless::fiber::async: a policy of neither async nor deferred");
}

}  // namespace cppless::fiber::detail
