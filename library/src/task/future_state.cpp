// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/future_state.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

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

void future_state_base::run_continuations() noexcept {
  std::vector<std::function<void()>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(continuations_);
  }
  for (const auto& continuation : taken) continuation();
}

bool wait_for_parents(const std::vector<std::shared_ptr<future_state_base>>& parents,
                      const std::atomic<bool>& done, time_point until) {
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

}  // namespace cppless::detail
