// SPDX-License-Identifier: Apache-2.0
#include "fiber/task_waits.hpp"

#include <chrono>
#include <cstdint>

#include <cppless/detail/fiber/waits.hpp>
#include <cppless/fiber/blocking.hpp>

#include "fiber/dispatched.hpp"
#include "fiber/processor.hpp"

namespace cppless::fiber::detail {
namespace {

namespace task_room = cppless::detail;

struct parked_waiter final : task_room::parked {
  void wake() noexcept override { me.wake(); }
  waiter me;
};

/// In runs by a seed other times are compared with the runtime's own.
time_point in_fibers_time(time_point until) {
  if (until == time_point::max()) return until;
  return deadline_in(until - std::chrono::steady_clock::now());
}

class waits final : public task_room::fiber_waits {
 public:
  bool is_on_fiber() const noexcept override { return detail::is_on_fiber(); }

  bool wait_at(task_room::parking_place& place, task_room::time_point until) override {
    parked_waiter here;
    if (!place.let_in(here)) return true;
    if (here.me.wait_until(in_fibers_time(until))) return true;
    if (place.take_out(here)) return false;
    here.me.wait();
    return true;
  }

  void call_blocking(void (*function)(void*), void* of) override {
    blocking([=] { function(of); });
  }

  void start_blocking(void (*function)(void*), void* of) override {
    auto& made = make_task(current_or_attached(), [=]() noexcept { function(of); });
    made.flags = task::runner_refers;
    try {
      run_on_helper(made);
    } catch (...) {
      release_task(made);
      throw;
    }
  }

  void yield() noexcept override { detail::yield(); }

  task_room::update_scope* updates_of_caller() const noexcept override {
    const dispatched* const running = dispatched::current();
    return running != nullptr ? running->updates : nullptr;
  }
};

}  // namespace

std::size_t stack_for_values() noexcept {
  const processor* const mine = static_cast<const processor*>(current());
  if (mine == nullptr || mine->fiber == nullptr) return SIZE_MAX;
  const std::uintptr_t low = reinterpret_cast<std::uintptr_t>(mine->fiber->low);
  return (stack_pointer() - low) / 4 * 3;
}

cppless::detail::fiber_waits& task_waits() noexcept {
  static waits all;
  return all;
}

}  // namespace cppless::fiber::detail
