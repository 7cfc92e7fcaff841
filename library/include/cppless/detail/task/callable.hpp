// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/task/signature.hpp>
#include <cppless/detail/task/stable_name.hpp>
#include <cppless/detail/wire/binary.hpp>
#include <cppless/detail/wire/closure.hpp>

namespace cppless::detail {

/// The callable that a worker calls: rebuilt from the payload where it has state.
template <class F>
class decoded_callable {
 public:
  explicit decoded_callable(source& from) : value_(decode<F>(from)) {}
  F& get() noexcept { return value_; }

 private:
  F value_;
};

template <class F>
  requires(is_reflected_closure<F> && !std::is_empty_v<F>)
class decoded_callable<F> {
 public:
  explicit decoded_callable(source& from) : storage_(from) {}
  F& get() noexcept { return *storage_; }

 private:
  closure_storage<F> storage_;
};

// Closures without captures may lack a default constructor (`[=] {...}`), so none is called.
template <class F>
  requires(std::is_empty_v<F> && std::is_trivially_copyable_v<F>)
class decoded_callable<F> {
 public:
  explicit decoded_callable(source&) : value_(std::bit_cast<F>(std::byte{})) {}
  F& get() noexcept { return value_; }

 private:
  F value_;
};

template <class F>
void encode_callable(sink& to, const F& callable) {
  if constexpr (std::is_empty_v<F> && std::is_trivially_copyable_v<F>) {
  } else if constexpr (is_reflected_closure<F>) {
    encode_closure(to, callable);
  } else {
    encode(to, callable);
  }
}

// ---- compile-time checks; the plugin turns these into diagnostics at the user's own line ----

template <class Callable>
struct CPPLESS_ANNOTATE("cppless::dispatched") dispatched {};

template <class Callable, int Index, class T, bool Serializable>
struct CPPLESS_ANNOTATE("cppless::capture_check") capture_check {
#if !defined(__CPPLESS_PLUGIN__)
  static_assert(Serializable, "a captured value of this task cannot be serialised");
#endif
};

template <class Callable, int Index, class T, bool Serializable>
struct CPPLESS_ANNOTATE("cppless::signature_check") signature_check {
#if !defined(__CPPLESS_PLUGIN__)
  static_assert(Serializable || Index >= 0, "the result of this task cannot be serialised");
  static_assert(Serializable || Index < 0, "an argument of this task cannot be serialised");
#endif
};

template <class F, int I>
using capture_t = std::remove_cvref_t<decltype(std::declval<F&>().template capture<I>())>;

template <class F>
consteval bool callable_is_sendable() {
  if constexpr (std::is_pointer_v<F>) {
    static_assert(!std::is_pointer_v<F>,
                  "a function pointer cannot be sent: dispatch cppless::fn<&function> instead");
    return false;
  } else if constexpr (std::is_empty_v<F> && std::is_trivially_copyable_v<F>) {
    return sizeof(dispatched<F>) != 0;
  } else if constexpr (is_reflected_closure<F>) {
    (void)sizeof(dispatched<F>);
    return []<int... I>(std::integer_sequence<int, I...>) {
      ((void)sizeof(capture_check<F, I, capture_t<F, I>, is_serializable<capture_t<F, I>>>), ...);
      return (is_serializable<capture_t<F, I>> && ...);
    }(std::make_integer_sequence<int, F::capture_count()>{});
  } else {
    static_assert(is_serializable<F>,
                  "this callable has state that cppless cannot send: a lambda with captures needs "
                  "clang and the cppless plugin (or cppless::bind), a function object needs to be "
                  "an aggregate of serialisable members or have a serialize function");
    return is_serializable<F>;
  }
}

template <class F, class... Args>
consteval bool signature_is_sendable(type_list<Args...>) {
  using result = typename result_of<F, type_list<Args...>>::type;
  bool sendable = true;
  if constexpr (!std::is_void_v<result>) {
    (void)sizeof(signature_check<F, -1, result, is_serializable<result>>);
    sendable = is_serializable<result>;
  }
  return sendable && []<int... I>(std::integer_sequence<int, I...>) {
    ((void)sizeof(signature_check<F, I, Args, is_serializable<Args>>), ...);
    return (is_serializable<Args> && ...);
  }(std::make_integer_sequence<int, sizeof...(Args)>{});
}

/// Whether F can be sent; reports each reason why not where the user wrote it.
template <class F, class Parameters>
inline constexpr bool is_sendable = callable_is_sendable<F>() && signature_is_sendable<F>(Parameters{});

// ---- the worker's side of one task type ----

template <class F, class Parameters, class Config>
struct entry_for;

template <class F, class... Args, class Config>
struct CPPLESS_ANNOTATE("cppless::task_entry") entry_for<F, type_list<Args...>, Config> {
  static void run(source& payload, sink& result) {
    decoded_callable<F> callable(payload);
    std::tuple<Args...> arguments{decode<Args>(payload)...};
    std::apply(
        [&](Args&... unpacked) {
          if constexpr (std::is_void_v<typename result_of<F, type_list<Args...>>::type>) {
            call(callable.get(), unpacked...);
          } else {
            encode(result, call(callable.get(), unpacked...));
          }
        },
        arguments);
  }

  static const char* callable_name() { return stable_name<F>(); }
  static const char* task_name() { return stable_name<entry_for>(); }

  static inline constinit const entry record{&run, &callable_name, &task_name,
                                             limits_of<Config>()};
  CPPLESS_ENTRY_NODE static inline const entry* const node = &record;
};

/// The entry of that task type; using it is what makes workers know the task.
template <class F, class Parameters, class Config>
const entry& entry_of() noexcept {
  using type = entry_for<F, Parameters, Config>;
  register_entry<type>();
  return type::record;
}

}  // namespace cppless::detail
