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
      made.what_ = &detail::entry_of<stored, parameters, Config>();
      made.callable_ = std::make_shared<stored>(std::forward<F>(callable));
      made.encode_ = [](detail::sink& to, const void* callable_address) {
        detail::encode_callable(to, *static_cast<const stored*>(callable_address));
      };
    }
    return made;
  }

  /// For the templates of this library.
  const detail::entry& what() const noexcept { return *what_; }
  void encode_callable(detail::sink& to) const { encode_(to, callable_.get()); }

 private:
  task() = default;

  const detail::entry* what_ = nullptr;
  std::shared_ptr<const void> callable_;
  void (*encode_)(detail::sink& to, const void* callable) = nullptr;
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

/// Makes the job for one call of a lambda, function object or task.
template <class Config, class Job, class Parameters, class F, class... Given>
std::unique_ptr<Job> make_job(instance_core& core, auto&& destination, const F& callable,
                              const Given&... given) {
  std::unique_ptr<Job> made;
  if constexpr (is_task<F>) {
    static_assert(std::is_same_v<Config, lambda::config<>>,
                  "a task has its configuration already: give it to task<...>::with<config>");
    made = std::make_unique<Job>(callable.what(), core.memory(),
                                 std::forward<decltype(destination)>(destination));
    callable.encode_callable(made->payload);
    encode_arguments(made->payload, Parameters{}, given...);
  } else if constexpr (is_sendable<F, Parameters>) {
    made = std::make_unique<Job>(entry_of<F, Parameters, Config>(), core.memory(),
                                 std::forward<decltype(destination)>(destination));
    encode_request<Parameters>(made->payload, callable, given...);
  }
  return made;
}

}  // namespace detail

template <class F>
task(F) -> task<typename detail::task_signature<decltype(&F::operator())>::type>;

}  // namespace cppless
