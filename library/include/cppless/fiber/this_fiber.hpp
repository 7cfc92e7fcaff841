// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <stop_token>

#include <cppless/detail/fiber/waits.hpp>

namespace cppless::fiber {

/// Names a running task, or a plain thread, as std::thread::id does a thread.
class id {
 public:
  id() = default;
  friend auto operator<=>(id, id) = default;

  /// For this library.
  explicit id(const void* of) noexcept : of_(of) {}

 private:
  const void* of_ = nullptr;
};

/// What the calling task, or plain thread, does: the counterpart of std::this_thread.
namespace this_fiber {

inline id get_id() noexcept { return id(detail::current_identity()); }

/// Lets others have a turn: the caller goes to the end of the queue.
inline void yield() noexcept { detail::yield(); }

/// The fiber parks, and its worker does other things meanwhile. False if `stop` ended the sleep.
template <class Rep, class Period>
bool sleep_for(const std::chrono::duration<Rep, Period>& duration,
               const std::stop_token& stop = {}) {
  return detail::sleep_until(detail::deadline_in(duration), stop);
}

template <class Clock, class Duration>
bool sleep_until(const std::chrono::time_point<Clock, Duration>& moment,
                 const std::stop_token& stop = {}) {
  return detail::sleep_until(detail::deadline_at(moment), stop);
}

}  // namespace this_fiber
}  // namespace cppless::fiber
