// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <cppless/fiber/future.hpp>

namespace cppless::fiber {

/// The standard's own, so that existing calls need no change.
using launch = std::launch;

namespace detail {

/// Throws `cancelled`, once a stop was requested, in the place of a task that has not begun.
void throw_if_stopped(const std::stop_token& stop);

template <class F>
inline constexpr bool is_function_of_async = !std::is_same_v<std::decay_t<F>, std::launch> &&
                                             !std::is_same_v<std::decay_t<F>, std::stop_token>;

[[noreturn]] void throw_no_policy();

}  // namespace detail

/// Runs `function(arguments...)` as a task, and returns the future of its result. Function and
/// arguments are kept decayed, as std::async does: std::ref for references.
///
/// The task is run by whichever worker is free first; if its result is asked for before that, by
/// the asker. It starts the runtime if there is none (see `runtime`), and may throw what that does.
template <class F, class... Args>
  requires detail::is_function_of_async<F>
[[nodiscard, gnu::always_inline]] inline future<detail::async_result_t<F, Args...>> async(
    F&& function, Args&&... arguments) {
  detail::worker& self = detail::current_or_attached();
  auto& made = detail::make_task(self, std::forward<F>(function), std::forward<Args>(arguments)...);
  made.flags = detail::task::waits_in_destructor;
  detail::submit(self, made);
  return future<detail::async_result_t<F, Args...>>(made);
}

/// With `launch::deferred` alone the task is run by who first waits for it without a limit, and
/// never if nobody does. All else is the same as above.
template <class F, class... Args>
[[nodiscard]] inline future<detail::async_result_t<F, Args...>> async(launch policy, F&& function,
                                                                      Args&&... arguments) {
  if ((policy & launch::async) != launch{}) {
    return fiber::async(std::forward<F>(function), std::forward<Args>(arguments)...);
  }
  if ((policy & launch::deferred) == launch{}) detail::throw_no_policy();
  auto& made = detail::make_task(detail::current_or_attached(), std::forward<F>(function),
                                 std::forward<Args>(arguments)...);
  made.state.store(detail::task::deferred, std::memory_order_relaxed);
  return future<detail::async_result_t<F, Args...>>(made);
}

/// A task that is not begun once `stop` has been requested: `get` then throws `cancelled`. One that
/// has begun should look at the token itself, and give it to its waits.
template <class F, class... Args>
[[nodiscard]] inline future<detail::async_result_t<F, Args...>> async(std::stop_token stop,
                                                                      F&& function,
                                                                      Args&&... arguments) {
  return fiber::async(
      [stop = std::move(stop)](std::decay_t<F>&& f, std::decay_t<Args>&&... as)
          -> detail::async_result_t<F, Args...> {
        detail::throw_if_stopped(stop);
        return std::invoke(std::move(f), std::move(as)...);
      },
      std::forward<F>(function), std::forward<Args>(arguments)...);
}

/// Runs `function(arguments...)` as a task that nobody waits for. An exception ends the program, as
/// in a thread.
template <class F, class... Args>
void detach(F&& function, Args&&... arguments) {
  detail::worker& self = detail::current_or_attached();
  auto& made = detail::make_task(
      self,
      [](std::decay_t<F>&& f, std::decay_t<Args>&&... as) noexcept {
        static_cast<void>(std::invoke(std::move(f), std::move(as)...));
      },
      std::forward<F>(function), std::forward<Args>(arguments)...);
  made.flags = detail::task::runner_refers;
  detail::submit(self, made);
}

}  // namespace cppless::fiber
