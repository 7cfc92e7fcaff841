// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/future_state.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

#include "task/fiber_waits.hpp"

namespace cppless::detail {

void future_state_base::when_ready(std::function<void()> continuation) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_ready()) {
      continuations_.push_back(std::move(continuation));
      return;
    }
  }
  continuation();
}

namespace {

/// Small enough for std::function to keep without allocation.
struct waking {
  parked* who;
  void operator()() const noexcept { who->wake(); }
};

}  // namespace

bool future_state_base::let_in(parked& who) {
  const std::lock_guard lock(mutex_);
  if (is_ready()) return false;
  continuations_.push_back(waking{&who});
  return true;
}

bool future_state_base::take_out(parked& who) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase_if(continuations_, [&](const std::function<void()>& each) {
           const waking* const wakes = each.target<waking>();
           return wakes != nullptr && wakes->who == &who;
         }) != 0;
}

void let_others_run() noexcept {
  if (fiber_waits* const fibers = fiber_waits::of_caller()) {
    fibers->yield();
  } else {
    std::this_thread::yield();
  }
}

bool wait_for_task(instance_core& on, future_state_base& awaited, const std::atomic<bool>& is_ready,
                   time_point until) {
  if (awaited.is_ready()) return true;
  if (fiber_waits* const parks = on.parks_caller()) {
    at_future place(awaited);
    return on.park(*parks, place, until) || awaited.is_ready();
  }
  return on.wait_for(is_ready, until);
}

void future_state_base::run_continuations() noexcept {
  std::vector<std::function<void()>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(continuations_);
  }
  for (const auto& continuation : taken) continuation();
}

namespace {

bool wait_in_turns(const future_parents& parents, const std::atomic<bool>& done,
                   time_point until) {
  // With one parent the wait is one; with more, turns short enough that none starves.
  constexpr auto turn = std::chrono::milliseconds(1);
  const std::size_t count = parents.size();
  for (std::size_t at = 0; !done.load(std::memory_order_acquire); ++at) {
    const time_point now = std::chrono::steady_clock::now();
    if (now >= until) return false;
    std::size_t passed = 0;
    while (passed < count && parents[at % count]->is_ready()) ++at, ++passed;
    if (passed == count) {
      // All are in: their continuations are running on another thread this moment.
      std::this_thread::yield();
    } else {
      parents[at % count]->wait_until(count == 1 ? until : std::min(until, now + turn));
    }
  }
  return true;
}

}  // namespace

bool all_come_by_themselves(const future_parents& parents) noexcept {
  return std::all_of(parents.begin(), parents.end(),
                     [](const auto& each) { return each->comes_by_itself(); });
}

bool wait_for_parents(future_state_base& awaited, const future_parents& parents,
                      const std::atomic<bool>& done, time_point until) {
  fiber_waits* const fibers = fiber_waits::of_caller();
  if (fibers == nullptr) return wait_in_turns(parents, done, until);
  if (all_come_by_themselves(parents)) {
    at_future place(awaited);
    return fibers->wait_at(place, until) || awaited.is_ready();
  }
  bool is_done = false;
  call_blocking([&] { is_done = wait_in_turns(parents, done, until); });
  return is_done;
}

}  // namespace cppless::detail
