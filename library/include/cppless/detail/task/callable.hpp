// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/task/signature.hpp>
#include <cppless/detail/task/stable_name.hpp>
#include <cppless/detail/wire/codec.hpp>

namespace cppless::detail {

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
      ((void)sizeof(capture_check<F, I, capture_type<F, I>, is_serializable<capture_type<F, I>>>), ...);
      return (is_serializable<capture_type<F, I>> && ...);
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

// ---- one task type: thin, because all of this is compiled for each ----

template <class F>
inline constexpr bool is_stateless = std::is_empty_v<F> && std::is_trivially_copyable_v<F>;

/// Captures travel one by one. Where they need an archive they share it, and the closure is one value.
template <class F>
consteval bool travels_by_capture() {
  if constexpr (is_stateless<F> || !is_reflected_closure<F>) {
    return false;
  } else {
    return shape_of<F>.direct;
  }
}

/// In how many parts a callable's state travels.
template <class F>
consteval int count_state_parts() {
  if constexpr (travels_by_capture<F>()) {
    return F::capture_count();
  } else {
    return is_stateless<F> ? 0 : 1;
  }
}

template <int I, class F>
auto* state_part(F& callable) noexcept {
  if constexpr (travels_by_capture<F>()) {
    return const_cast<capture_type<F, I>*>(std::addressof(callable.template capture<I>()));
  } else {
    return std::addressof(callable);
  }
}

template <class F, int I>
using state_part_t = std::remove_pointer_t<decltype(state_part<I>(std::declval<F&>()))>;

/// Room for an argument that is not there yet.
template <std::size_t, class T>
struct argument_room {
  alignas(T) std::byte bytes[sizeof(T)];
};
template <class Indices, class... Args>
struct argument_rooms;
template <std::size_t... I, class... Args>
struct argument_rooms<std::index_sequence<I...>, Args...> : argument_room<I, Args>... {};

/// Stands for `decoded_values` where there is nothing to build or to destroy.
struct copied_values {
  template <class... T>
  explicit copied_values(const T&...) noexcept {}
};

template <class F, class Parameters,
          class StateIndices = std::make_integer_sequence<int, count_state_parts<F>()>,
          class ArgumentIndices = indices_of<Parameters>>
struct task_code;

template <class F, class... Args, int... S, std::size_t... A>
struct task_code<F, type_list<Args...>, std::integer_sequence<int, S...>,
                 std::index_sequence<A...>> {
  static constexpr bool has_state = sizeof...(S) != 0;

  /// The worker's side.
  static void run(source& payload, sink& result) {
    argument_rooms<std::index_sequence<A...>, Args...> rooms;
    // Closures without captures may lack a default constructor (`[=] {...}`): none is called.
    alignas(F) std::byte callable_bytes[sizeof(F)];
    F& callable = reinterpret_cast<F&>(callable_bytes);
    constexpr bool is_flat = are_flat<state_part_t<F, S>..., Args...>;
    if constexpr (is_flat) {
      get_cursor from(payload.take((sizeof(state_part_t<F, S>) + ... + 0) + (sizeof(Args) + ... + 0)));
      (from.read(state_part<S>(callable), sizeof(state_part_t<F, S>)), ...);
      (from.read(static_cast<argument_room<A, Args>&>(rooms).bytes, sizeof(Args)), ...);
    }
    void* const places[] = {state_part<S>(callable)...,
                            static_cast<argument_room<A, Args>&>(rooms).bytes..., nullptr};
    const std::conditional_t<is_flat, copied_values, decoded_values> values(
        payload, codecs_of<state_part_t<F, S>..., Args...>, places);
    const auto call_it = [&]() -> decltype(auto) {
      return call(callable, reinterpret_cast<Args&>(
                                static_cast<argument_room<A, Args>&>(rooms).bytes)...);
    };
    using result_type = typename result_of<F, type_list<Args...>>::type;
    if constexpr (std::is_void_v<result_type>) {
      call_it();
    } else {
      const auto& returned = call_it();
      encode_erased<result_type>(result, std::addressof(returned));
    }
  }

  /// The caller's side. Sent are the state and then the arguments.
  static void encode_state(sink& to, const void* callable) {
    F& sent = *const_cast<F*>(static_cast<const F*>(callable));  // capture<I>() is not const
    if constexpr (are_flat<state_part_t<F, S>...>) {
      put_cursor cursor(to.reserve((sizeof(state_part_t<F, S>) + ... + 0)));
      (cursor.write(state_part<S>(sent), sizeof(state_part_t<F, S>)), ...);
    } else {
      const void* const places[] = {state_part<S>(sent)..., nullptr};
      encode_values(to, codecs_of<state_part_t<F, S>...>, places);
    }
  }
};

template <class F, class Parameters, class Config>
struct CPPLESS_ANNOTATE("cppless::task_entry") entry_for {
  using code = task_code<F, Parameters>;

  static inline constinit const entry record{
      &code::run, code::has_state ? &code::encode_state : nullptr, CPPLESS_CONSTANT_NAME(F),
      CPPLESS_CONSTANT_NAME(entry_for), limits_of<Config>()};
  CPPLESS_ENTRY_NODE static inline const entry* const node = &record;
};

/// The entry of that task type; using it is what makes workers know the task.
template <class F, class Parameters, class Config>
const entry& entry_of() noexcept {
  using type = entry_for<F, Parameters, Config>;
  register_entry<type>();
  return type::record;
}

/// One call: of which entry, and the callable whose state goes along.
struct call_target {
  const entry* what = nullptr;
  const void* callable = nullptr;

  void encode_state(sink& to) const {
    if (what->encode_state != nullptr) what->encode_state(to, callable);
  }
};

}  // namespace cppless::detail
