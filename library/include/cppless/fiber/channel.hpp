// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <cppless/detail/fiber/selection.hpp>
#include <cppless/detail/fiber/waits.hpp>
#include <cppless/detail/fiber/wake_list.hpp>
#include <cppless/errors.hpp>
#include <cppless/fiber/mutex.hpp>

namespace cppless::fiber {

/// A queue of limited length between tasks: who sends waits while it is full, who receives while it
/// is empty. Values come out in the order they went in.
///
///   fiber::channel<int> numbers(16);
///   auto sum = fiber::async([&] {
///     int total = 0;
///     while (std::optional<int> next = numbers.receive()) total += *next;
///     return total;
///   });
///   for (int i = 0; i < 100; ++i) numbers.send(i);
///   numbers.close();
///
/// Thread safety: everything but the destructor, by fibers and plain threads alike; any number of
/// senders and receivers. It may be destroyed by who has received the last value, or the end.
/// Costs: a lock, a move into the queue and one out of it; who waits is woken once per value.
template <class T>
class channel {
 public:
  using value_type = T;

  /// `capacity`: how many values wait in it, at least 1. Throws `rejected`.
  explicit channel(std::size_t capacity) : capacity_(capacity) {
    if (capacity == 0) throw rejected("a channel of capacity 0: it must be at least 1");
  }

  /// Waits for room. False if the channel is closed, also while waiting: then `value` is lost.
  bool send(T value) { return send_until_steady(value, detail::time_point::max(), {}); }

  /// `value` is moved from only if it was sent. False also if the time passed, or a stop was
  /// requested.
  bool try_send(T& value) { return send_until_steady(value, detail::time_point::min(), {}); }
  template <class Rep, class Period>
  bool send_for(T& value, const std::chrono::duration<Rep, Period>& duration,
                const std::stop_token& stop = {}) {
    return send_until_steady(value, detail::deadline_in(duration), stop);
  }
  template <class Clock, class Duration>
  bool send_until(T& value, const std::chrono::time_point<Clock, Duration>& deadline,
                  const std::stop_token& stop = {}) {
    return send_until_steady(value, detail::deadline_at(deadline), stop);
  }

  /// Waits for a value. Nothing once the channel is closed and empty.
  std::optional<T> receive() { return receive_until_steady(detail::time_point::max(), {}); }

  /// Nothing also if the time passed, or a stop was requested.
  std::optional<T> try_receive() { return receive_until_steady(detail::time_point::min(), {}); }
  template <class Rep, class Period>
  std::optional<T> receive_for(const std::chrono::duration<Rep, Period>& duration,
                               const std::stop_token& stop = {}) {
    return receive_until_steady(detail::deadline_in(duration), stop);
  }
  template <class Clock, class Duration>
  std::optional<T> receive_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                 const std::stop_token& stop = {}) {
    return receive_until_steady(detail::deadline_at(deadline), stop);
  }

  /// Nothing can be sent any more; what is in it can be received. Wakes all who wait.
  void close() {
    detail::wake_list all;
    {
      const std::lock_guard hold(mutex_);
      is_closed_ = true;
      while (detail::waiter* const first = receivers_.claim_first()) all.add(*first);
      while (detail::waiter* const first = senders_.claim_first()) all.add(*first);
    }
    all.wake();
  }

  bool is_closed() const {
    const std::lock_guard hold(mutex_);
    return is_closed_;
  }

 private:
  template <class U, class F>
  friend class receive_case;
  template <class U, class F>
  friend class send_case;

  enum class outcome { done, closed, must_wait };

  class receiving;
  class sending;

  bool send_until_steady(T& value, detail::time_point deadline, const std::stop_token& stop) {
    sending one(*this, value);
    detail::select_case* const only = &one;
    return detail::select({&only, 1}, deadline, stop) == 0 && one.is_sent();
  }

  std::optional<T> receive_until_steady(detail::time_point deadline, const std::stop_token& stop) {
    receiving one(*this);
    detail::select_case* const only = &one;
    detail::select({&only, 1}, deadline, stop);
    return std::move(one.value());
  }

  outcome send_now(T& value) {
    std::unique_lock hold(mutex_);
    if (is_closed_) return outcome::closed;
    if (values_.size() == capacity_) return outcome::must_wait;
    values_.push_back(std::move(value));
    detail::waiter* const receiver = receivers_.claim_first();
    hold.unlock();
    if (receiver != nullptr) receiver->wake();
    return outcome::done;
  }

  outcome receive_now(std::optional<T>& into) {
    std::unique_lock hold(mutex_);
    if (values_.empty()) return is_closed_ ? outcome::closed : outcome::must_wait;
    into.emplace(std::move(values_.front()));
    values_.pop_front();
    detail::waiter* const sender = senders_.claim_first();
    hold.unlock();
    if (sender != nullptr) sender->wake();
    return outcome::done;
  }

  bool can_send() const { return is_closed_ || values_.size() < capacity_; }
  bool can_receive() const { return is_closed_ || !values_.empty(); }

  const std::size_t capacity_;
  mutable mutex mutex_;
  std::deque<T> values_;
  bool is_closed_ = false;
  detail::ticket_queue senders_;
  detail::ticket_queue receivers_;
};

template <class T>
class channel<T>::receiving : public detail::select_case {
 public:
  explicit receiving(channel& from) noexcept : from_(from) {}

  std::optional<T>& value() noexcept { return value_; }

  bool attempt() final { return from_.receive_now(value_) != outcome::must_wait; }
  bool enlist(detail::ticket& made) final {
    const std::lock_guard hold(from_.mutex_);
    if (from_.can_receive()) return false;
    from_.receivers_.push_back(made);
    return true;
  }
  void delist(detail::ticket& made) final {
    const std::lock_guard hold(from_.mutex_);
    from_.receivers_.remove(made);
  }

 private:
  channel& from_;
  std::optional<T> value_;
};

template <class T>
class channel<T>::sending : public detail::select_case {
 public:
  sending(channel& to, T& value) noexcept : to_(to), value_(value) {}

  bool is_sent() const noexcept { return is_sent_; }

  bool attempt() final {
    const outcome how = to_.send_now(value_);
    is_sent_ = how == outcome::done;
    return how != outcome::must_wait;
  }
  bool enlist(detail::ticket& made) final {
    const std::lock_guard hold(to_.mutex_);
    if (to_.can_send()) return false;
    to_.senders_.push_back(made);
    return true;
  }
  void delist(detail::ticket& made) final {
    const std::lock_guard hold(to_.mutex_);
    to_.senders_.remove(made);
  }

 private:
  channel& to_;
  T& value_;
  bool is_sent_ = false;
};

}  // namespace cppless::fiber
