// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/detail/task/result_job.hpp>

namespace cppless {

/// Any callable of one signature that can be sent, as `std::function` is any that can be called:
/// `cppless::task t = [=](int x) { return x + n; };` is a `task<int(int)>`. Copies share the
/// callable. The configuration is chosen when the task is made: `task<int(int)>::with<config>(f)`.
/// Every dispatching function takes a task where it takes a lambda. (thesis 3.2.2)
template <class Signature>
class task;

template <class R, class... Args>
class task<R(Args...)> {
 public:
  using parameters = detail::type_list<std::decay_t<Args>...>;

  /// Reports captures, arguments and results that cannot be sent, at compile time.
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, task>)
  task(F&& callable) : task(with<lambda::config<>>(std::forward<F>(callable))) {}

  template <class Config, class F>
  static task with(F&& callable) {
    using stored = std::decay_t<F>;
    static_assert(std::is_same_v<typename detail::result_of<stored, parameters>::type, R>,
                  "the callable returns another type than the task");
    task made;
    if constexpr (detail::is_sendable<stored, parameters>) {
      made.what_ = detail::target_of<Config, parameters, stored>(callable).what;
      made.callable_ = std::make_shared<stored>(std::forward<F>(callable));
    }
    return made;
  }

  /// For the templates of this library.
  detail::call_target target() const noexcept { return {what_, callable_.get()}; }

 private:
  task() = default;

  const detail::entry* what_ = nullptr;
  std::shared_ptr<const void> callable_;
};

namespace detail {

template <class Signature>
struct task_signature;
template <class C, class R, class... Ps>
struct task_signature<R (C::*)(Ps...)> {
  using type = R(std::decay_t<Ps>...);
};
template <class C, class R, class... Ps>
struct task_signature<R (C::*)(Ps...) const> : task_signature<R (C::*)(Ps...)> {};
template <class C, class R, class... Ps>
struct task_signature<R (C::*)(Ps...) noexcept> : task_signature<R (C::*)(Ps...)> {};
template <class C, class R, class... Ps>
struct task_signature<R (C::*)(Ps...) const noexcept> : task_signature<R (C::*)(Ps...)> {};

template <class T>
inline constexpr bool is_task = false;
template <class Signature>
inline constexpr bool is_task<task<Signature>> = true;

template <class Signature>
inline constexpr bool has_known_parameters<task<Signature>> = true;

template <class R, class... Args, class... Given>
struct parameters_for<task<R(Args...)>, Given...> {
  using type = typename task<R(Args...)>::parameters;
};
template <class R, class... Args, class... Given>
struct result_of<task<R(Args...)>, type_list<Given...>> {
  using type = R;
};

template <class Signature, class Parameters>
inline constexpr bool is_sendable<task<Signature>, Parameters> = true;

template <class Config, class Parameters, class Signature>
call_target target_of(const task<Signature>& callable) noexcept {
  static_assert(std::is_same_v<Config, lambda::config<>>,
                "a task has its configuration already: give it to task<...>::with<config>");
  return callable.target();
}

}  // namespace detail

template <class F>
task(F) -> task<typename detail::task_signature<decltype(&F::operator())>::type>;

}  // namespace cppless
