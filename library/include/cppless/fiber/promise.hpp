// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

#include <cppless/fiber/future.hpp>

namespace cppless::fiber {

namespace detail {

std::exception_ptr broken_promise();

/// What a promise sets: a result without a task to run.
template <class T>
struct promised : result_task<T> {
  promised() noexcept : result_task<T>(kind_of, task::outcome::none) { this->may_be_shared = true; }

  static promised& make() {
    return *new (current_or_attached().blocks.allocate(sizeof(promised))) promised;
  }
  static void destroy(task& base) noexcept {
    auto& self = static_cast<promised&>(base);
    self.~promised();
    free_block(&self, sizeof(self));
  }

  static constexpr typed_kind<T> kind_of{{nullptr, nullptr, &destroy, "F = a promise]"}, nullptr};
};

/// The promising side's reference.
template <class T>
class promise_base {
 public:
  promise_base() : state_(&promised<T>::make()) {}
  promise_base(promise_base&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)),
        is_retrieved_(std::exchange(other.is_retrieved_, false)) {}
  promise_base& operator=(promise_base&& other) noexcept {
    promise_base taken(std::move(other));
    swap(taken);
    return *this;
  }
  /// Breaks the promise if it was not kept: the future throws `broken_promise`.
  ~promise_base() {
    if (state_ == nullptr) return;
    if (is_retrieved_ && state_->satisfy()) {
      state_->fail(broken_promise());
      state_->complete();
    }
    release_task(*state_);
  }

  void swap(promise_base& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(is_retrieved_, other.is_retrieved_);
  }

  /// Once: throws std::future_error.
  future<T> get_future() {
    promised<T>& mine = state();
    if (is_retrieved_) throw_future_error(std::future_errc::future_already_retrieved);
    is_retrieved_ = true;
    mine.references.store(2, std::memory_order_relaxed);  // nobody else knows it yet
    return future<T>(mine);
  }

  /// Makes the future throw it. Throws std::future_error if a result was set before.
  void set_exception(std::exception_ptr error) {
    claim();
    state_->fail(std::move(error));
    state_->complete();
  }

 protected:
  enum none_t { none };
  explicit promise_base(none_t) noexcept : state_(nullptr) {}

  promised<T>& state() const {
    if (state_ == nullptr) throw_future_error(std::future_errc::no_state);
    return *state_;
  }

  void claim() const {
    if (!state().satisfy()) throw_future_error(std::future_errc::promise_already_satisfied);
  }

  template <class... Args>
  void set(Args&&... arguments) {
    claim();
    try {
      state_->emplace(std::forward<Args>(arguments)...);
    } catch (...) {
      state_->marks.fetch_and(static_cast<std::uint8_t>(~task::satisfied));
      throw;
    }
    state_->complete();
  }

  promised<T>* state_;
  bool is_retrieved_ = false;
};

}  // namespace detail

/// Sets the result of a future: std::promise for fibers, with the same semantics.
///
/// There is no set_value_at_thread_exit, nor the packaged_task's make_ready_at_thread_exit: the
/// thread outlives the task, and may be another at its end. What is to be seen only after a task's
/// own values are gone is set by the destructor of the first value it has in a `fiber_local`.
///
/// Thread safety: setting is safe against another's setting and against everything the future does.
template <class T>
class promise : public detail::promise_base<T> {
 public:
  void set_value(const T& value) { this->set(value); }
  void set_value(T&& value) { this->set(std::move(value)); }
};

template <class T>
class promise<T&> : public detail::promise_base<T&> {
 public:
  void set_value(T& value) { this->set(std::addressof(value)); }
};

template <>
class promise<void> : public detail::promise_base<void> {
 public:
  void set_value() { this->set(); }
};

template <class T>
void swap(promise<T>& one, promise<T>& other) noexcept {
  one.swap(other);
}

}  // namespace cppless::fiber
