// SPDX-License-Identifier: Apache-2.0
// The library's side of the diagnostics, cut down: what it instantiates for a task.
#pragma once

template <class Callable>
struct [[clang::annotate("cppless::dispatched")]] dispatched {};
template <class Callable, int Index, class T, bool Serializable>
struct [[clang::annotate("cppless::capture_check")]] capture_check {};
template <class Callable, int Index, class T, bool Serializable>
struct [[clang::annotate("cppless::signature_check")]] signature_check {};

template <class T>
struct no_reference {
  using type = T;
};
template <class T>
struct no_reference<T&> {
  using type = T;
};

template <class F>
void dispatch(F) {
  (void)sizeof(dispatched<F>);
}
// As if the library had found capture Index, parameter Index or the result (-1) unserialisable.
template <int Index, class F>
void bad_capture(F f) {
  using type = typename no_reference<decltype(f.template capture<Index>())>::type;
  (void)sizeof(capture_check<F, Index, type, false>);
}
template <int Index, class T, class F>
void bad_signature(F) {
  (void)sizeof(signature_check<F, Index, T, false>);
}
