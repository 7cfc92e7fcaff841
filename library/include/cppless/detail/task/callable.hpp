// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/task/signature.hpp>
#include <cppless/detail/task/stable_name.hpp>
#include <cppless/detail/trace/task_trace.hpp>
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

template <class Types>
inline constexpr bool all_serializable = false;
template <class... T>
inline constexpr bool all_serializable<type_list<T...>> = (is_serializable<T> && ...);

/// The types of a closure's captures.
template <class F, class Indices = std::make_integer_sequence<int, F::capture_count()>>
struct captures_of;
template <class F, int... I>
struct captures_of<F, std::integer_sequence<int, I...>> {
  using type = type_list<capture_type<F, I>...>;
};
template <class F>
using captures_t = typename captures_of<F>::type;

template <template <class, int, class, bool> class Check, class F, class... T>
consteval void check_each(type_list<T...>) {
  []<int... I>(std::integer_sequence<int, I...>) {
    ((void)sizeof(Check<F, I, T, is_serializable<T>>), ...);
  }(std::make_integer_sequence<int, sizeof...(T)>{});
}

template <class F>
inline constexpr bool is_stateless = __is_empty(F) && __is_trivially_copyable(F);

template <class F>
consteval bool callable_is_sendable() {
  if constexpr (is_stateless<F>) {
    return sizeof(dispatched<F>) != 0;
  } else if constexpr (is_reflected_closure<F>) {
    constexpr bool sendable = all_serializable<captures_t<F>>;
    (void)sizeof(dispatched<F>);
    if constexpr (!sendable) check_each<capture_check, F>(captures_t<F>{});
    return sendable;
  } else if constexpr (std::is_pointer_v<F>) {
    static_assert(!std::is_pointer_v<F>,
                  "a function pointer cannot be sent: dispatch cppless::fn<&function> instead");
    return false;
  } else {
    static_assert(is_serializable<F>,
                  "this callable has state that cppless cannot send: a lambda with captures needs "
                  "clang and the cppless plugin (or cppless::bind), a function object needs to be "
                  "an aggregate of serialisable members or have a serialize function");
    return is_serializable<F>;
  }
}

template <class Result>
inline constexpr bool is_sendable_result = std::is_void_v<Result> || is_serializable<Result>;

template <class F, class Parameters>
consteval bool signature_is_sendable() {
  using result = typename result_of<F, Parameters>::type;
  if constexpr (all_serializable<Parameters> && is_sendable_result<result>) {
    return true;
  } else {
    if constexpr (!is_sendable_result<result>) (void)sizeof(signature_check<F, -1, result, false>);
    check_each<signature_check, F>(Parameters{});
    return false;
  }
}

/// Whether F can be sent; reports each reason why not where the user wrote it.
template <class F, class Parameters>
inline constexpr bool is_sendable =
    callable_is_sendable<F>() && signature_is_sendable<F, Parameters>();

// ---- one task type: thin, because all of this is compiled for each ----

template <class Types>
inline constexpr bool all_direct = false;
template <class... T>
inline constexpr bool all_direct<type_list<T...>> = (shape_of<T>.direct && ...);

/// The parts in which a callable's state travels. Captures travel one by one; where they need an
/// archive they share it, and the closure is one value.
template <class F>
struct state_of {
  using type = type_list<F>;
};
template <class F>
  requires is_stateless<F>
struct state_of<F> {
  using type = type_list<>;
};
template <class F>
  requires(!is_stateless<F> && is_reflected_closure<F>)
struct state_of<F> {
  using type = std::conditional_t<all_direct<captures_t<F>>, captures_t<F>, type_list<F>>;
};

/// Room for an argument that is not there yet.
template <int, class T>
struct argument_room {
  alignas(T) std::byte bytes[sizeof(T)];
};
template <class Indices, class... Args>
struct argument_rooms;
template <int... I, class... Args>
struct argument_rooms<std::integer_sequence<int, I...>, Args...> : argument_room<I, Args>... {
  [[gnu::always_inline]] void locate(void** places) noexcept {
    ((places[I] = static_cast<argument_room<I, Args>&>(*this).bytes), ...);
  }
};

/// Stands for `decoded_values` where there is nothing to build or to destroy.
struct copied_values {
  template <class... T>
  explicit copied_values(const T&...) noexcept {}
};

template <class Result>
void encode_result(sink& to, const Result& result) {
  mark(run_mark::called);
  encode_or_pack(to, result);
}

#if defined(__clang__)
// Otherwise all that the callable does would be optimised once more for its only caller here.
#define CPPLESS_CALL_OUT_OF_LINE [[clang::noinline]]
#else
#define CPPLESS_CALL_OUT_OF_LINE
#endif

template <class F, class Parameters, class State = typename state_of<F>::type,
          class ArgumentIndices = indices_of<Parameters>, class StateIndices = indices_of<State>>
struct task_code;

template <class F, class... Args, class... State, int... A, int... S>
struct task_code<F, type_list<Args...>, type_list<State...>, std::integer_sequence<int, A...>,
                 std::integer_sequence<int, S...>> {
  static constexpr std::size_t parts = sizeof...(State);

  [[gnu::always_inline]] static void locate_state(F& callable, void** places) noexcept {
    if constexpr (std::is_same_v<type_list<State...>, type_list<F>>) {
      places[0] = std::addressof(callable);
    } else {
      ((places[S] = const_cast<State*>(std::addressof(callable.template capture<S>()))), ...);
    }
  }

  /// A capture of a constant is one.
  static consteval std::uint32_t movable_state() {
    if constexpr (std::is_same_v<type_list<State...>, type_list<F>>) {
      return 1;
    } else {
      std::uint32_t bits = 0;
      ((bits |= S < 32 && !std::is_const_v<std::remove_reference_t<
                    decltype(std::declval<F&>().template capture<S>())>>
                    ? std::uint32_t{1} << (S % 32) : 0), ...);
      return bits;
    }
  }

  /// The worker's side.
  static void run(source& payload, sink& result) {
    argument_rooms<std::integer_sequence<int, A...>, Args...> rooms;
    // Closures without captures may lack a default constructor (`[=] {...}`): none is called.
    alignas(F) std::byte callable_bytes[sizeof(F)];
    F& callable = reinterpret_cast<F&>(callable_bytes);
    void* places[parts + sizeof...(Args) + 1];
    locate_state(callable, places);
    rooms.locate(places + parts);
    constexpr bool is_flat = are_flat<State..., Args...>;
    if constexpr (is_flat) {
      get_cursor from(payload.take((sizeof(State) + ... + 0) + (sizeof(Args) + ... + 0)));
      (from.read(places[S], sizeof(State)), ...);
      (from.read(places[parts + A], sizeof(Args)), ...);
    }
    const std::conditional_t<is_flat, copied_values, decoded_values> values(
        payload, codecs_of<State..., Args...>, places);
    mark(run_mark::decoded);
    using result_type = typename result_of<F, type_list<Args...>>::type;
    constexpr bool moves = takes_rvalues<F, Args...>;
    if constexpr (std::is_void_v<result_type>) {
      CPPLESS_CALL_OUT_OF_LINE callable(
          reinterpret_cast<std::conditional_t<moves, Args&&, Args&>>(
              static_cast<argument_room<A, Args>&>(rooms).bytes)...);
    } else {
      CPPLESS_CALL_OUT_OF_LINE encode_result<result_type>(
          result, callable(reinterpret_cast<std::conditional_t<moves, Args&&, Args&>>(
                      static_cast<argument_room<A, Args>&>(rooms).bytes)...));
    }
  }

  /// The caller's side. Sent are the state and then the arguments.
  static void encode_state(sink& to, const void* callable) {
    void* places[parts + 1];
    locate_state(*const_cast<F*>(static_cast<const F*>(callable)), places);
    if constexpr (are_flat<State...>) {
      put_cursor cursor(to.reserve((sizeof(State) + ... + 0)));
      (cursor.write(places[S], sizeof(State)), ...);
    } else {
      encode_values(to, codecs_of<State...>, places);
    }
  }
};

template <class F, class Parameters, class Config>
struct CPPLESS_ANNOTATE("cppless::task_entry") entry_for {
  using code = task_code<F, Parameters>;

  static inline constinit const entry record{
      &code::run, code::parts != 0 ? &code::encode_state : nullptr, CPPLESS_CONSTANT_NAME(F),
      CPPLESS_CONSTANT_NAME(entry_for), limits_of<Config>(), {0}, code::movable_state()};
  CPPLESS_ENTRY_NODE static inline const entry* const node = &record;
#if !defined(__clang__)
  static inline const entry_registration registration{&node, &node + 1};
#endif
};

/// One call: of which entry, and the callable whose state goes along.
struct call_target {
  const entry* what = nullptr;
  const void* callable = nullptr;

  void encode_state(sink& to) const {
    if (what->encode_state != nullptr) what->encode_state(to, callable);
  }
};

/// What a call of a lambda or function object is sent to; using it is what makes workers know the
/// task.
template <class Config, class Parameters, class F>
[[gnu::always_inline]] inline call_target target_of(const F& callable) noexcept {
  using type = entry_for<F, Parameters, Config>;
#if defined(__clang__)
  (void)&type::node;
#else
  (void)&type::registration;
#endif
  return {&type::record, std::addressof(callable)};
}

}  // namespace cppless::detail
