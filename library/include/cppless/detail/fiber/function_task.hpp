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

/// What is kept for a result of type T: a pointer for a reference.
template <class T>
using kept_t = std::conditional_t<
    std::is_void_v<T>, nothing,
    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

/// A task, or what a promise sets, with its result.
template <class T>
struct result_task : task {
  using kept = kept_t<T>;

  result_task(const task_kind& of, outcome so_far) noexcept : task(of, so_far) {}
  ~result_task() {
    if (result == outcome::value) {
      value.~kept();
    } else if (result == outcome::error) {
      error.~exception_ptr();
    }
  }

  /// Not yet visible to anybody who waits: see `complete`.
  template <class... Args>
  void emplace(Args&&... arguments) {
    new (&value) kept(std::forward<Args>(arguments)...);
    result = outcome::value;
  }

  void fail(std::exception_ptr with) noexcept {
    new (&error) std::exception_ptr(std::move(with));
    result = outcome::error;
  }

  void throw_if_failed() const {
    if (result == outcome::error) [[unlikely]] std::rethrow_exception(error);
  }

  /// Moves it out, or throws it: then nobody else refers to the exception, whose last reference may
  /// be given back by another thread unseen by ThreadSanitizer (that is in libstdc++.so).
  T take() {
    if (result == outcome::error) [[unlikely]] std::rethrow_exception(std::move(error));
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(value);
    }
  }

  union {
    kept value;
    std::exception_ptr error;
  };
};

/// Also knows how to call it for the one who waits, on whose stack it is called.
template <class T>
struct typed_kind : task_kind {
  /// Returns or throws what the function does, and the task is gone.
  T (*call)(task&, worker&);
};

/// Keeps what `function` returns or throws.
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
      result.result = task::outcome::value;
    }
  } catch (...) {
    result.fail(std::current_exception());
  }
}

inline void free_block(void* block, std::size_t size) noexcept {
  current_or_attached().blocks.deallocate(block, size);
}

/// Gives one reference back at its end.
class reference {
 public:
  explicit reference(task& held) noexcept : held_(held) {}
  ~reference() { release_task(held_); }
  reference(const reference&) = delete;
  reference& operator=(const reference&) = delete;

 private:
  task& held_;
};

/// After `run`, for others than the caller: ends what belongs to the task and tells who waits.
void finish(task& ran) noexcept;

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
      : result_task<T>(kind_of, task::outcome::not_called),
        function(std::forward<Args>(arguments)...) {}
  ~function_task() {
    if (this->result == task::outcome::not_called) function.~F();
  }

  static void run(task& base) noexcept {
    auto& self = static_cast<function_task&>(base);
    keep_result<T>(self, std::move(self.function));
    self.function.~F();
  }
  static void execute(task& base) noexcept {
    run(base);
    finish(base);
  }
  static void destroy(task& base) noexcept {
    auto& self = static_cast<function_task&>(base);
    self.~function_task();
    free_block(&self, sizeof(self));
  }
  static T call(task& base, worker& on) {
    struct ending {
      function_task& called;
      task* const outer;
      [[gnu::always_inline]] ~ending() {
        called.function.~F();
        if (called.locals != nullptr) [[unlikely]] destroy_locals(called);
        worker& here = *current();  // maybe another thread's by now
        here.current = outer;
        here.blocks.deallocate(&called, sizeof(called));
      }
    } const last{static_cast<function_task&>(base), on.current};
    on.current = &base;
    return std::move(last.called.function)();
  }

  static constexpr typed_kind<T> kind_of{
      {&run, &execute, &destroy, name_of<typename F::user_function>()}, &call};

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

  [[gnu::always_inline]] decltype(auto) operator()() && {
    return std::apply(
        [this](auto&... each) -> decltype(auto) {
          return std::invoke(std::move(function), std::move(each)...);
        },
        arguments);
  }

  [[no_unique_address]] F function;
  [[no_unique_address]] std::tuple<Args...> arguments;
};

template <class F, class... Args>
using async_result_t = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;

/// Makes a task of `function(arguments...)`. Not yet handed to anybody.
template <class F, class... Args>
[[gnu::always_inline]] inline result_task<async_result_t<F, Args...>>& make_task(
    worker& self, F&& function, Args&&... arguments) {
  using call = bound_call<std::decay_t<F>, std::decay_t<Args>...>;
  using made = function_task<async_result_t<F, Args...>, call>;
  static_assert(alignof(made) <= block_lists::step, "over-aligned beyond 64 bytes");
  void* const place = self.blocks.allocate(sizeof(made));
  if constexpr (noexcept(call(std::in_place, std::forward<F>(function),
                              std::forward<Args>(arguments)...))) {
    return *new (place) made(std::in_place, std::forward<F>(function),
                             std::forward<Args>(arguments)...);
  } else {
    try {
      return *new (place) made(std::in_place, std::forward<F>(function),
                               std::forward<Args>(arguments)...);
    } catch (...) {
      free_block(place, sizeof(made));
      throw;
    }
  }
}

/// Gives a task to the workers, never to the caller.
void inject(task& made);

/// The result of a task that only the caller refers to: of one nobody has begun by calling it.
template <class T>
[[gnu::always_inline]] inline T finish_and_take(result_task<T>& wanted) {
  if (worker* const self = current(); take_in_place(self, wanted)) [[likely]] {
    return static_cast<const typed_kind<T>*>(wanted.kind)->call(wanted, *self);
  }
  if (!wanted.is_done()) wait_until_done(wanted);
  const reference last(wanted);
  return wanted.take();
}

}  // namespace cppless::fiber::detail
