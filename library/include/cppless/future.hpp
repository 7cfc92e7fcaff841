// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/base/deadline.hpp>
#include <cppless/detail/task/future_state.hpp>
#include <cppless/instance.hpp>
#include <cppless/task.hpp>

namespace cppless {

/// The result of a task to come. Movable, not copyable. Unlike `std::async`'s, its destructor does
/// not wait: the task goes on and its result is dropped.
///
/// Thread safety: one thread at a time per future. Waiting does the instance's work meanwhile.
template <class T>
class future {
 public:
  using value_type = T;

  future() = default;

  bool valid() const noexcept { return state_ != nullptr; }

  /// Whether `get` would return at once. Never blocks.
  bool ready() const noexcept { return state_->is_ready(); }

  /// Blocks until ready.
  void wait() const { state_->wait_until(detail::time_point::max()); }

  /// Blocks at most that long. True if ready.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> duration) const {
    return state_->wait_until(
        detail::deadline_after(std::chrono::steady_clock::now(), duration));
  }

  /// Blocks, then returns the result or throws the task's error. Once: the future is not valid
  /// afterwards.
  T get() {
    const std::shared_ptr<detail::future_state<T>> state = std::move(state_);
    state->wait_until(detail::time_point::max());
    // Until it is ready the thread that settles the task may be writing.
    if (!state->is_ready()) throw cancelled("the instance was closed before the task finished");
    state->throw_error();
    if constexpr (!std::is_void_v<T>) return std::move(*state->value);
  }

  /// Blocks, then returns the result, which stays in the future. Throws as `get` does, after which
  /// the future is not valid. (thesis 3.3)
  std::add_lvalue_reference_t<T> value() {
    wait();
    if (!state_->is_ready() || state_->error) get();
    if constexpr (!std::is_void_v<T>) return *state_->value;
  }

  /// A future of `function(result)`. `function` runs in this process as soon as the result is in,
  /// on whichever thread brings it in: keep it short. Errors pass by it into the new future.
  /// This future is not valid afterwards.
  template <class F>
  auto then(F function);

  /// Ends the task: see `instance::cancel`. `get` then throws `cancelled`.
  bool cancel() { return state_->cancel(); }

  /// What the invocation took; once ready. Zeroes for futures made by `then` and `when_...`.
  const execution_statistics& statistics() const noexcept { return state_->statistics; }

  /// For the templates of this library.
  explicit future(std::shared_ptr<detail::future_state<T>> state) noexcept
      : state_(std::move(state)) {}
  const std::shared_ptr<detail::future_state<T>>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<detail::future_state<T>> state_;
};

namespace detail {

/// Puts what `function` returns or throws into `state`.
template <class T, class F>
void settle_with(combined_state<T>& state, F&& function) noexcept {
  try {
    if constexpr (std::is_void_v<T>) {
      function();
      state.value.emplace();
    } else {
      state.value.emplace(function());
    }
  } catch (...) {
    state.error = std::current_exception();
  }
  state.complete();
}

template <class F, class T>
struct then_result {
  using type = std::invoke_result_t<F&, T>;
};
template <class F>
struct then_result<F, void> {
  using type = std::invoke_result_t<F&>;
};

}  // namespace detail

template <class T>
template <class F>
auto future<T>::then(F function) {
  using result = typename detail::then_result<F, T>::type;
  auto from = std::move(state_);
  auto to = std::make_shared<detail::combined_state<result>>(
      typename detail::combined_state<result>::parents{from});
  // A raw pointer: the continuation is stored in what it points to.
  detail::future_state<T>* const source = from.get();
  auto shared_function = std::make_shared<F>(std::move(function));
  from->when_ready([source, to, shared_function] {
    detail::settle_with(*to, [&]() -> result {
      source->throw_error();
      if constexpr (std::is_void_v<T>) {
        return (*shared_function)();
      } else {
        return (*shared_function)(std::move(*source->value));
      }
    });
  });
  return future<result>(to);
}

namespace detail {

/// Of what a forwarding reference to T refers to. Copies of a task share the callable.
template <class T>
inline constexpr bool may_move_from =
    !std::is_reference_v<T> && !std::is_const_v<T> && !is_task<T>;

/// Not inline: one for all tasks of a signature.
template <class Result, class Parameters, class... Args>
[[gnu::noinline]] future<Result> start_call(const std::shared_ptr<instance_core>& core,
                                            const call_target& target, movable_values movable,
                                            const Args&... arguments) {
  auto state = std::make_shared<task_state<Result>>(core);
  state->id = core->submit(
      make_job<future_job<Result>>(*core, target, state, movable, Parameters{}, arguments...));
  return future<Result>(std::move(state));
}

}  // namespace detail

/// Starts `callable(arguments...)` elsewhere and returns the future of its result. Captures and
/// arguments are encoded before this returns (`fiber_dispatcher` copies them, or moves those given
/// as rvalues). Throws `rejected` if they are too large, `cancelled` if the instance is closed.
template <class Config = lambda::config<>, class F, class... Args>
auto async(instance& on, F&& callable, Args&&... arguments) {
  using function = std::remove_cvref_t<F>;
  using parameters = detail::parameters_t<function, std::remove_cvref_t<Args>...>;
  using result = typename detail::result_of<function, parameters>::type;
  if constexpr (detail::is_sendable<function, parameters>) {
    constexpr auto movable = detail::bits_of({detail::may_move_from<F>, detail::may_move_from<Args>...});
    return detail::start_call<result, parameters, std::remove_cvref_t<Args>...>(
        on.core(), detail::target_of<Config, parameters>(std::as_const(callable)), movable,
        arguments...);
  } else {
    return future<result>();
  }
}

namespace detail {

/// All results in order, or the first error.
template <class T>
auto take_all(const std::vector<std::shared_ptr<future_state<T>>>& states) {
  for (const auto& state : states) state->throw_error();
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> results;
    results.reserve(states.size());
    for (const auto& state : states) results.push_back(std::move(*state->value));
    return results;
  }
}

}  // namespace detail

/// A future of all results in order (of nothing, if they are of nothing); of the first error if one
/// fails, once all have finished.
template <class T>
auto when_all(std::vector<future<T>> futures) {
  struct progress {
    std::vector<std::shared_ptr<detail::future_state<T>>> states;
    std::atomic<std::size_t> missing;
  };
  using result = decltype(detail::take_all<T>({}));
  using state_type = detail::combined_state<result>;
  auto all = std::make_shared<progress>();
  typename state_type::parents parents;
  for (const future<T>& each : futures) all->states.push_back(each.state());
  parents.assign(all->states.begin(), all->states.end());
  all->missing = parents.size() + 1;
  auto to = std::make_shared<state_type>(std::move(parents));
  const auto one_less = [all, to] {
    if (--all->missing != 0) return;
    detail::settle_with(*to, [&] { return detail::take_all<T>(all->states); });
    all->states.clear();  // breaks the circle of states and continuations
  };
  for (const future<T>& each : futures) each.state()->when_ready(one_less);
  one_less();
  return future<result>(to);
}

/// Which future was first, and its result.
template <class T>
struct first_result {
  std::size_t index;
  T value;
};

/// A future of the first result to come in, or of its error. The other tasks go on. Throws
/// `rejected` if there are none: it would never be ready.
template <class T>
future<first_result<T>> when_any(std::vector<future<T>> futures) {
  if (futures.empty()) throw rejected("when_any: 0 futures were given, at least 1 is needed");
  using state_type = detail::combined_state<first_result<T>>;
  typename state_type::parents parents;
  for (const future<T>& each : futures) parents.push_back(each.state());
  auto to = std::make_shared<state_type>(std::move(parents));
  auto is_taken = std::make_shared<std::atomic<bool>>(false);
  for (std::size_t index = 0; index < futures.size(); ++index) {
    detail::future_state<T>* const source = futures[index].state().get();
    source->when_ready([to, is_taken, source, index] {
      if (is_taken->exchange(true)) return;
      detail::settle_with(*to, [&]() -> first_result<T> {
        source->throw_error();
        return {index, std::move(*source->value)};
      });
    });
  }
  return future<first_result<T>>(to);
}

}  // namespace cppless
