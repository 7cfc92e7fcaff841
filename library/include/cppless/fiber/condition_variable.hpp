// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include <cppless/detail/fiber/waits.hpp>
#include <cppless/fiber/mutex.hpp>

namespace cppless::fiber {

/// std::condition_variable_any for fibers: waits, with any lock, until it is notified. The lock is
/// one for fibers (`std::unique_lock<fiber::mutex>`): waiting for a std::mutex would hold the
/// worker.
///
/// Thread safety: as the standard's, by fibers and plain threads alike. It may be destroyed once
/// all who wait have been notified; those who wait with a time limit or a stop token must have
/// returned.
/// Costs: each `wait` parks, each notified waiter is woken: tens of nanoseconds for a fiber, tens
/// of microseconds for a plain thread. There are no spurious wake-ups, but whoever was notified may
/// find that another one was faster: use a predicate.
class condition_variable {
 public:
  condition_variable() = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  /// Wakes who has waited longest, if anybody waits.
  void notify_one() noexcept;
  void notify_all() noexcept;

  // As in the standard, the program ends if locking again throws: hence noexcept.
  template <class Lock>
  void wait(Lock& lock) noexcept {
    detail::waiter me;
    enqueue(me);
    lock.unlock();
    me.wait();
    lock.lock();
  }

  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }

  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock,
                            const std::chrono::time_point<Clock, Duration>& deadline) {
    return wait_at_most(lock, detail::deadline_at(deadline), {}) ? std::cv_status::no_timeout
                                                                 : std::cv_status::timeout;
  }

  /// What `predicate` says at the end.
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& deadline,
                  Predicate predicate) {
    return wait_with(lock, detail::deadline_at(deadline), {}, predicate);
  }

  template <class Lock, class Rep, class Period>
  std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration) {
    return wait_at_most(lock, detail::deadline_in(duration), {}) ? std::cv_status::no_timeout
                                                                 : std::cv_status::timeout;
  }

  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration,
                Predicate predicate) {
    return wait_with(lock, detail::deadline_in(duration), {}, predicate);
  }

  /// These also end when a stop is requested; what `predicate` says then is the result.
  template <class Lock, class Predicate>
  bool wait(Lock& lock, std::stop_token stop, Predicate predicate) {
    return wait_with(lock, detail::time_point::max(), stop, predicate);
  }

  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, std::stop_token stop,
                  const std::chrono::time_point<Clock, Duration>& deadline, Predicate predicate) {
    return wait_with(lock, detail::deadline_at(deadline), stop, predicate);
  }

  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::stop_token stop,
                const std::chrono::duration<Rep, Period>& duration, Predicate predicate) {
    return wait_with(lock, detail::deadline_in(duration), stop, predicate);
  }

 private:
  void enqueue(detail::waiter& me) noexcept;
  /// False if it was not notified before the deadline or the stop.
  bool finish(detail::waiter& me, detail::time_point deadline,
              const std::stop_token& stop) noexcept;

  template <class Lock>
  bool wait_at_most(Lock& lock, detail::time_point deadline, const std::stop_token& stop) noexcept {
    detail::waiter me;
    enqueue(me);
    lock.unlock();
    const bool notified = finish(me, deadline, stop);
    lock.lock();
    return notified;
  }

  template <class Lock, class Predicate>
  bool wait_with(Lock& lock, detail::time_point deadline, const std::stop_token& stop,
                 Predicate& predicate) {
    while (!predicate()) {
      if (stop.stop_requested() || !wait_at_most(lock, deadline, stop)) return predicate();
    }
    return true;
  }

  detail::spin_lock lock_;
  detail::wait_queue queue_;
};

/// `condition_variable` takes any lock.
using condition_variable_any = condition_variable;

}  // namespace cppless::fiber
