// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/fiber/promise.hpp>

namespace cppless::fiber {

template <class Signature>
class packaged_task;

/// A function whose result goes into a future when it is called: std::packaged_task for fibers,
/// with the same semantics. It may be called on a plain thread as well.
template <class R, class... Args>
class packaged_task<R(Args...)> : private detail::promise_base<R> {
  using base = detail::promise_base<R>;

 public:
  /// Valid only once another is moved into it.
  packaged_task() noexcept : base(base::none) {}

  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, packaged_task>)
  explicit packaged_task(F&& function)
      : function_(std::make_unique<typed_function<std::decay_t<F>>>(std::forward<F>(function))) {}

  packaged_task(packaged_task&&) noexcept = default;
  packaged_task& operator=(packaged_task&&) noexcept = default;

  bool valid() const noexcept { return this->state_ != nullptr; }
  using base::get_future;

  void swap(packaged_task& other) noexcept {
    base::swap(other);
    function_.swap(other.function_);
  }

  /// Once; throws std::future_error if it was called before (`promise_already_satisfied`).
  void operator()(Args... arguments) {
    this->claim();
    detail::keep_result<R>(*this->state_, [&]() -> R {
      return function_->call(std::forward<Args>(arguments)...);
    });
    this->state_->complete();
  }

  /// The same function with a new future; the old one's promise breaks, if it was not kept.
  void reset() {
    static_cast<void>(this->state());
    packaged_task fresh;
    static_cast<base&>(fresh) = base();
    fresh.function_ = std::move(function_);
    *this = std::move(fresh);
  }

 private:
  struct any_function {
    virtual ~any_function() = default;
    virtual R call(Args&&... arguments) = 0;
  };
  template <class F>
  struct typed_function final : any_function {
    explicit typed_function(F given) : function(std::move(given)) {}
    R call(Args&&... arguments) override {
      if constexpr (std::is_void_v<R>) {
        static_cast<void>(std::invoke(function, std::forward<Args>(arguments)...));
      } else {
        return std::invoke(function, std::forward<Args>(arguments)...);
      }
    }
    F function;
  };

  std::unique_ptr<any_function> function_;
};

namespace detail {

template <class Function>
struct signature_of;
template <class R, class... Args>
struct signature_of<std::function<R(Args...)>> {
  using type = R(Args...);
};

}  // namespace detail

template <class F>
packaged_task(F) -> packaged_task<
    typename detail::signature_of<decltype(std::function(std::declval<F>()))>::type>;

template <class Signature>
void swap(packaged_task<Signature>& one, packaged_task<Signature>& other) noexcept {
  one.swap(other);
}

}  // namespace cppless::fiber
