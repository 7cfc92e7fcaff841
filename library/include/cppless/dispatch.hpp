// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cppless/dispatchers.hpp>
#include <cppless/future.hpp>
#include <cppless/task.hpp>

namespace cppless {

namespace detail {

template <class T>
concept an_instance = std::is_same_v<std::remove_cvref_t<T>, instance>;

/// Not inline: one for all tasks of a signature.
template <class Result, class Parameters, class... Args>
[[gnu::noinline]] task_id submit_call(instance_core& core, const call_target& target,
                                      Result* result, const std::tuple<Args...>& arguments) {
  return std::apply(
      [&](const Args&... given) {
        return core.submit(
            make_job<variable_job<Result>>(core, target, result, movable_values{0}, Parameters{}, given...));
      },
      arguments);
}

/// Inlined before anything is optimised: there is one for each task.
template <class Config, class Parameters, class Result, class F, class... Args>
[[gnu::always_inline]] inline task_id dispatch_tuple(instance& on, const F& callable,
                                                     Result* result,
                                                     const std::tuple<Args...>& arguments) {
  // Where it is not, the reason is reported already.
  if constexpr (is_sendable<F, Parameters>) {
    return submit_call<Result, Parameters>(
        *on.core(), target_of<Config, Parameters>(callable), result, arguments);
  } else {
    return 0;
  }
}

}  // namespace detail

/// Starts `callable(arguments...)` elsewhere and returns at once with the invocation's id. When
/// `instance.wait_one()` returns that id, `result` holds what the callable returned.
///
/// `callable` is a lambda (captures by value), function object, `fn<&f>`, `bind(...)` or `task`;
/// `arguments` may be left out where it takes none. `result` must live until then and is written by
/// any thread that waits. Captures and arguments are encoded before this returns and may change
/// afterwards. Throws `rejected` if they are too large, `cancelled` if the instance is closed.
/// (thesis 3.2, paper 3.1)
template <class Config = lambda::config<>, class F, class Result>
  requires(detail::has_known_parameters<F> && !std::is_void_v<detail::result_t<F>>)
task_id dispatch(instance& on, const F& callable, Result& result,
                 const detail::arguments_t<F>& arguments = {}) {
  static_assert(std::is_same_v<Result, detail::result_t<F>>,
                "the result variable has another type than the callable returns");
  return detail::dispatch_tuple<Config, detail::parameters_t<F>>(on, callable, &result, arguments);
}

/// The same for a callable that returns nothing.
template <class Config = lambda::config<>, class F>
  requires(detail::has_known_parameters<F> && std::is_void_v<detail::result_t<F>>)
task_id dispatch(instance& on, const F& callable, const detail::arguments_t<F>& arguments = {}) {
  return detail::dispatch_tuple<Config, detail::parameters_t<F>>(
      on, callable, static_cast<void*>(nullptr), arguments);
}

/// The same for generic and overloaded callables, whose argument types the tuple gives:
/// `dispatch(instance, [](auto x) { return 2 * x; }, result, std::tuple{21})`.
template <class Config = lambda::config<>, class F, class Result, class... Args>
  requires(!detail::has_known_parameters<F>)
task_id dispatch(instance& on, const F& callable, Result& result,
                 const std::tuple<Args...>& arguments) {
  static_assert(std::is_same_v<Result, detail::result_t<F, Args...>>,
                "the result variable has another type than the callable returns");
  return detail::dispatch_tuple<Config, detail::parameters_t<F, Args...>>(on, callable, &result,
                                                                          arguments);
}

/// Calls `callable(arguments...)` on the default dispatcher and waits for what it returns. Throws
/// the task's error.
template <class Config = lambda::config<>, class F, class... Args>
  requires(!detail::an_instance<F>)
auto dispatch(const F& callable, const Args&... arguments) {
  return async<Config>(default_instance(), callable, arguments...).get();
}

/// Waits for `count` dispatched tasks. If some of them failed, throws the first error once all
/// `count` are in: the results of the others are in place then.
void wait(instance& on, std::size_t count);

}  // namespace cppless
