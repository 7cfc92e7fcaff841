// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cppless/detail/fiber/task.hpp>
#include <cppless/detail/fiber/worker.hpp>

namespace cppless::fiber::detail {

struct nothing {};

/// What is kept for a result of type T: references as pointers.
template <class T>
using kept_t = std::conditional_t<
    std::is_void_v<T>, nothing,
    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

/// A task, or a promise, with its result. Its size is kept for freeing it.
template <class T>
struct result_task : task {
  explicit result_task(std::uint32_t bytes) noexcept : size(bytes) {}
  ~result_task() {
    if (has_value) value.~kept();
  }

  using kept = kept_t<T>;

  /// Not yet visible to anybody who waits: see `complete`.
  template <class... Args>
  void emplace(Args&&... arguments) {
    new (&value) kept(std::forward<Args>(arguments)...);
    has_value = true;
  }

  void throw_if_failed() {
    if (error) [[unlikely]] std::rethrow_exception(error);
  }

  /// Moves it out, or throws.
  T take() {
    throw_if_failed();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(value);
    }
  }

  bool has_value = false;
  const std::uint32_t size;
  std::exception_ptr error;
  union {
    kept value;
  };
};

/// Calls `function` and keeps its result or its exception in `result`.
template <class T, class F>
void keep_result(result_task<T>& result, F&& function) noexcept {
  try {
    if constexpr (std::is_void_v<T>) {
      std::forward<F>(function)();
      result.emplace();
    } else if constexpr (std::is_reference_v<T>) {
      T got = std::forward<F>(function)();
      result.emplace(std::addressof(got));
    } else {
      // From the returned value itself, without a move.
      new (&result.value) T(std::forward<F>(function)());
      result.has_value = true;
    }
  } catch (...) {
    result.error = std::current_exception();
  }
}

template <class T>
void destroy_task(result_task<T>& of) noexcept {
  if (of.flags & task::holds_function) [[unlikely]] of.kind->drop(of);
  const std::uint32_t size = of.size;
  of.~result_task();
  worker* const self = current();
  (self != nullptr ? *self : attach_thread()).blocks.deallocate(&of, size);
}

/// One less refers to it.
template <class T>
void release_task(result_task<T>& of) noexcept {
  // Nobody can add to the last reference, so the one that sees it alone needs no exchange.
  if (of.references.load(std::memory_order_acquire) == 1 ||
      of.references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    destroy_task(of);
  }
}

/// Names a type for people.
template <class F>
constexpr const char* name_of() noexcept {
  return __PRETTY_FUNCTION__;
}

/// A task with its function, which is called once and destroyed right after.
template <class T, class F>
struct function_task : result_task<T> {
  template <class... Args>
  explicit function_task(Args&&... arguments)
      : result_task<T>(sizeof(function_task)), function(std::forward<Args>(arguments)...) {
    this->kind = &kind_of;
    this->flags = task::holds_function;
  }
  ~function_task() = delete;  // see destroy_task

  static void run(task& base) noexcept {
    auto& self = static_cast<function_task&>(base);
    keep_result<T>(self, std::move(self.function));
    drop(base);
  }
  static void execute(task& base) noexcept {
    run(base);
    if (base.locals.data != nullptr) [[unlikely]] destroy_locals(base);
    base.complete();
  }
  static void drop(task& base) noexcept {
    base.flags &= static_cast<std::uint8_t>(~task::holds_function);
    static_cast<function_task&>(base).function.~F();
  }

  static constexpr task_kind kind_of{&run, &execute, &drop, name_of<typename F::user_function>()};

  union {
    F function;
  };
};

/// A function with its arguments, decayed, as std::async keeps them.
template <class F, class... Args>
struct bound_call {
  using user_function = F;

  template <class G, class... As>
  explicit bound_call(std::in_place_t, G&& f, As&&... as)
      : function(std::forward<G>(f)), arguments(std::forward<As>(as)...) {}

  decltype(auto) operator()() && {
    return std::apply(
        [this](auto&... each) -> decltype(auto) {
          return std::invoke(std::move(function), std::move(each)...);
        },
        arguments);
  }

  F function;
  std::tuple<Args...> arguments;
};

template <class F, class... Args>
using async_result_t = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;

/// Makes a task of `function(arguments...)`. Not yet handed to anybody.
template <class F, class... Args>
result_task<async_result_t<F, Args...>>& make_task(F&& function, Args&&... arguments) {
  using call = bound_call<std::decay_t<F>, std::decay_t<Args>...>;
  using made = function_task<async_result_t<F, Args...>, call>;
  static_assert(alignof(made) <= block_lists::step);
  block_lists& blocks = current_or_attached().blocks;
  void* const place = blocks.allocate(sizeof(made));
  if constexpr (noexcept(call(std::in_place, std::forward<F>(function),
                              std::forward<Args>(arguments)...))) {
    return *new (place) made(std::in_place, std::forward<F>(function),
                             std::forward<Args>(arguments)...);
  } else {
    try {
      return *new (place) made(std::in_place, std::forward<F>(function),
                               std::forward<Args>(arguments)...);
    } catch (...) {
      current_or_attached().blocks.deallocate(place, sizeof(made));
      throw;
    }
  }
}

/// Gives a task to the workers, never to the caller.
void inject(task& made);

/// What is left to do for one who alone refers to a task that is done: get at the result.
template <class T>
T take_and_destroy(result_task<T>& of) {
  struct destroyer {
    result_task<T>& of;
    ~destroyer() { destroy_task(of); }
  } const last{of};
  return of.take();
}

}  // namespace cppless::fiber::detail
