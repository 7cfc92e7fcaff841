// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <cppless/detail/fiber/function_task.hpp>
#include <cppless/detail/fiber/waits.hpp>

namespace cppless::fiber {

template <class T>
class shared_future;

namespace detail {

[[noreturn]] void throw_future_error(std::future_errc code);

/// What `future` and `shared_future` have in common: one reference to a task.
template <class T>
class future_base {
 public:
  /// Whether there is a result to come. False after `get`, `share`, `then` and moving from it.
  bool valid() const noexcept { return task_ != nullptr; }

  /// Whether `get` would return at once. Never waits.
  bool is_ready() const { return held().is_done(); }

  /// Returns when the result is there. A task that nobody has begun is called now, by the caller;
  /// otherwise a fiber parks and a plain thread sleeps.
  void wait() const { run_or_wait(held()); }

  /// At most that long. `deferred` if the task runs only once somebody waits without limit.
  /// `timeout` also when `stop` asks for it.
  template <class Rep, class Period>
  std::future_status wait_for(const std::chrono::duration<Rep, Period>& duration,
                              const std::stop_token& stop = {}) const {
    if (held().is_done()) return std::future_status::ready;
    return wait_until_steady(duration <= duration.zero() ? time_point::min()
                                                         : deadline_in(duration), stop);
  }

  template <class Clock, class Duration>
  std::future_status wait_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                const std::stop_token& stop = {}) const {
    return wait_until_steady(deadline_at(deadline), stop);
  }

  /// For the templates of this library: what it refers to.
  result_task<T>* awaited() const noexcept { return task_; }
  /// For the templates of this library: the reference, which is the caller's from now on.
  result_task<T>& release() {
    result_task<T>& given = held();
    task_ = nullptr;
    return given;
  }

 protected:
  future_base() = default;
  explicit future_base(result_task<T>* task) noexcept : task_(task) {}
  ~future_base() {
    if (task_ != nullptr) give_up(*task_);
  }

  result_task<T>& held() const {
    if (task_ == nullptr) [[unlikely]] throw_future_error(std::future_errc::no_state);
    return *task_;
  }

  result_task<T>* task_ = nullptr;

 private:
  static void give_up(result_task<T>& held) noexcept {
    const bool is_last = held.references.load(std::memory_order_acquire) == 1;
    if (is_last && (held.flags & task::waits_in_destructor)) run_or_wait(held);
    release_task(held);
  }

  std::future_status wait_until_steady(time_point deadline, const std::stop_token& stop) const {
    result_task<T>& wanted = held();
    if (wanted.is_done()) return std::future_status::ready;
    if (wanted.state.load(std::memory_order_relaxed) == task::deferred) {
      return std::future_status::deferred;
    }
    if (deadline == time_point::min()) return std::future_status::timeout;
    return detail::wait_until_done(wanted, deadline, stop) ? std::future_status::ready
                                                           : std::future_status::timeout;
  }
};

}  // namespace detail

/// The result of a task to come: std::future's interface and semantics, for fibers and for plain
/// threads. If it comes from `async`, its destructor waits for the task, as std::async's does.
///
/// Thread safety: one fiber or thread at a time per future.
/// Costs: a task that nobody has begun when its result is asked for is called by `get` itself, for
/// less than ten nanoseconds around the call. Hence a task must not be one that ends only if its
/// maker goes on after `get`: nor must it with std::future.
template <class T>
class [[nodiscard]] future : public detail::future_base<T> {
 public:
  future() = default;
  future(future&& other) noexcept
      : detail::future_base<T>(std::exchange(other.task_, nullptr)) {}
  future& operator=(future&& other) noexcept {
    future taken(std::move(other));
    std::swap(this->task_, taken.task_);
    return *this;
  }

  /// The result, or the task's exception. Once: the future is not valid afterwards. Throws
  /// std::future_error if there is nothing to come (`no_state`) or the promise is gone
  /// (`broken_promise`).
  [[gnu::always_inline]] T get() {
    detail::result_task<T>& wanted = this->release();
    if (wanted.may_be_shared) [[unlikely]] return take_shared(wanted);
    return detail::finish_and_take(wanted);
  }

  /// A future that can be copied and asked more than once. This one is not valid afterwards.
  shared_future<T> share() { return shared_future<T>(std::move(*this)); }

  /// A future of `function(result)`, which runs as a task of its own once the result is there. An
  /// exception passes by it into the new future. This one is not valid afterwards.
  template <class F>
  auto then(F&& function);

  /// For the templates of this library.
  explicit future(detail::result_task<T>& made) noexcept : detail::future_base<T>(&made) {}

 private:
  static T take_shared(detail::result_task<T>& wanted) {
    const detail::reference last(wanted);
    detail::run_or_wait(wanted);
    return wanted.take();
  }
};

/// A future whose result stays where it is, for any number of askers.
///
/// Thread safety: as std::shared_future: each fiber or thread uses a copy of its own.
template <class T>
class shared_future : public detail::future_base<T> {
 public:
  shared_future() = default;
  explicit(false) shared_future(future<T>&& other)
      : detail::future_base<T>(other.valid() ? &other.release() : nullptr) {
    if (this->task_ != nullptr) this->task_->may_be_shared = true;
  }
  shared_future(const shared_future& other) noexcept : detail::future_base<T>(other.task_) {
    if (this->task_ != nullptr) {
      this->task_->references.fetch_add(1, std::memory_order_relaxed);
    }
  }
  shared_future(shared_future&& other) noexcept
      : detail::future_base<T>(std::exchange(other.task_, nullptr)) {}
  shared_future& operator=(shared_future other) noexcept {
    std::swap(this->task_, other.task_);
    return *this;
  }

  /// The result, which lives as long as any of the futures of it, or the task's exception.
  std::conditional_t<std::is_object_v<T>, std::add_lvalue_reference_t<const T>, T> get() const {
    detail::result_task<T>& wanted = this->held();
    detail::run_or_wait(wanted);
    wanted.throw_if_failed();
    if constexpr (std::is_reference_v<T>) {
      return *wanted.value;
    } else if constexpr (!std::is_void_v<T>) {
      return wanted.value;
    }
  }
};

}  // namespace cppless::fiber
