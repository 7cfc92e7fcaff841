// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/future.hpp>

/// Futures in coroutines: `co_await` one, and return one from a coroutine.
///
///     cppless::future<int> pipeline(cppless::instance& workers) {
///       const int m = co_await cppless::async(workers, [] { return 12; });
///       co_return co_await cppless::async(workers, [](int m) { return m + 1; }, m);
///     }
///     pipeline(workers).get();
///
/// A coroutine runs at once up to the first future that is not ready, and goes on in whichever thread
/// brings the awaited result in: keep it short between two `co_await`s. Waiting for its future drives
/// what it awaits. A coroutine whose future is given up still runs to its end.
/// References given to it must live as long; what it throws is what its future throws.

namespace cppless {

namespace detail {

/// The state of a coroutine's future: waits for what the coroutine waits for.
template <class T>
class coroutine_state final : public future_state<T> {
 public:
  void awaits(std::shared_ptr<future_state_base> on) {
    const std::lock_guard lock(mutex_);
    awaited_ = std::move(on);
  }
  void complete() noexcept {
    awaits(nullptr);
    this->set_ready();
    this->run_continuations();
  }

  bool wait_until(time_point until) override {
    while (!this->is_ready()) {
      const std::shared_ptr<future_state_base> on = awaited();
      if (on != nullptr && !on->is_ready()) {
        if (!on->wait_until(until)) return this->is_ready();
      } else {
        if (std::chrono::steady_clock::now() >= until) return false;
        let_others_run();  // the coroutine runs on another thread this moment
      }
    }
    return true;
  }
  bool cancel() override {
    const std::shared_ptr<future_state_base> on = awaited();
    return on != nullptr && on->cancel();
  }

 private:
  std::shared_ptr<future_state_base> awaited() {
    const std::lock_guard lock(mutex_);
    return awaited_;
  }

  std::mutex mutex_;
  std::shared_ptr<future_state_base> awaited_;
};

template <class T>
class future_awaiter {
 public:
  explicit future_awaiter(future<T> awaited) noexcept : awaited_(std::move(awaited)) {}

  bool await_ready() const noexcept { return awaited_.ready(); }

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> suspended) {
    // By value: the coroutine, and with it this object, may be gone before when_ready returns.
    const std::shared_ptr<future_state<T>> state = awaited_.state();
    if constexpr (requires { suspended.promise().awaits(state); }) {
      suspended.promise().awaits(state);
    }
    state->when_ready([suspended] { suspended.resume(); });
  }

  T await_resume() { return awaited_.get(); }

 private:
  future<T> awaited_;
};

template <class T>
class coroutine_promise_base {
 public:
  future<T> get_return_object() { return future<T>(state_); }
  std::suspend_never initial_suspend() const noexcept { return {}; }
  std::suspend_never final_suspend() noexcept {
    state_->complete();
    return {};
  }
  void unhandled_exception() noexcept { state_->error = std::current_exception(); }
  void awaits(std::shared_ptr<future_state_base> on) { state_->awaits(std::move(on)); }

 protected:
  std::shared_ptr<coroutine_state<T>> state_ = std::make_shared<coroutine_state<T>>();
};

template <class T>
class coroutine_promise : public coroutine_promise_base<T> {
 public:
  template <class From>
  void return_value(From&& from) {
    this->state_->value.emplace(std::forward<From>(from));
  }
};
template <>
class coroutine_promise<void> : public coroutine_promise_base<void> {
 public:
  void return_void() { state_->value.emplace(); }
};

}  // namespace detail

/// Suspends the coroutine until the future is ready; then its result, or its error thrown.
template <class T>
auto operator co_await(future<T>&& awaited) noexcept {
  return detail::future_awaiter<T>(std::move(awaited));
}

}  // namespace cppless

/// Coroutines may return `cppless::future`.
template <class T, class... Args>
struct std::coroutine_traits<cppless::future<T>, Args...> {
  using promise_type = cppless::detail::coroutine_promise<T>;
};
