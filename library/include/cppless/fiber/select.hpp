// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <cppless/detail/fiber/selection.hpp>
#include <cppless/fiber/channel.hpp>

namespace cppless::fiber {

/// See `on_receive`.
template <class T, class F>
class receive_case final : public channel<T>::receiving {
 public:
  receive_case(channel<T>& from, F&& handle)
      : channel<T>::receiving(from), handle_(std::move(handle)) {}
  void finish() { handle_(std::move(this->value())); }

 private:
  F handle_;
};

/// See `on_send`.
template <class T, class F>
class send_case final : public channel<T>::sending {
 public:
  send_case(channel<T>& to, T& value, F&& handle)
      : channel<T>::sending(to, value), handle_(std::move(handle)) {}
  void finish() { handle_(this->is_sent()); }

 private:
  F handle_;
};

/// For `select`: receives from the channel, then `handle(std::optional<T>)` is called, with nothing
/// if the channel is closed and empty.
template <class T, class F>
receive_case<T, F> on_receive(channel<T>& from, F handle) {
  return {from, std::move(handle)};
}

/// For `select`: sends `value`, which must be there until then, and `handle(bool)` is called, with
/// false if the channel is closed. `value` is moved from only if it was sent.
template <class T, class F>
send_case<T, F> on_send(channel<T>& to, T& value, F handle) {
  return {to, value, std::move(handle)};
}

namespace detail {

template <class Case>
concept selectable = std::is_base_of_v<select_case, std::remove_reference_t<Case>>;

template <class... Cases>
std::optional<std::size_t> select_until_steady(time_point deadline, const std::stop_token& stop,
                                               Cases&... cases) {
  static_assert(sizeof...(cases) > 0);
  const std::array<select_case*, sizeof...(cases)> all{&cases...};
  const std::size_t chosen = select(all, deadline, stop);
  if (chosen == none_selected) return std::nullopt;
  std::size_t index = 0;
  ((index++ == chosen ? cases.finish() : void()), ...);
  return chosen;
}

}  // namespace detail

/// Waits until one of the cases can be done, does it, and no other, and calls its handler.
///
///   fiber::select(fiber::on_receive(requests, [&](std::optional<request> next) { ... }),
///                 fiber::on_receive(ticks, [&](std::optional<tick>) { ... }),
///                 fiber::on_send(results, result, [&](bool) { result = compute(); }));
///
/// Returns the number of the case, from 0. Where several can be done it is the first in this order.
/// A closed channel's case can always be done: leave it out the next time. Throws what the handler
/// does.
template <detail::selectable... Cases>
std::size_t select(Cases&&... cases) {
  return *detail::select_until_steady(detail::time_point::max(), {}, cases...);
}

/// Nothing if a stop was requested first.
template <detail::selectable... Cases>
std::optional<std::size_t> select(const std::stop_token& stop, Cases&&... cases) {
  return detail::select_until_steady(detail::time_point::max(), stop, cases...);
}

/// Nothing if the time passed first. With a duration of 0 it never waits.
template <class Rep, class Period, detail::selectable... Cases>
std::optional<std::size_t> select_for(const std::chrono::duration<Rep, Period>& duration,
                                      Cases&&... cases) {
  const auto deadline = duration <= duration.zero() ? detail::time_point::min()
                                                    : detail::deadline_in(duration);
  return detail::select_until_steady(deadline, {}, cases...);
}

template <class Clock, class Duration, detail::selectable... Cases>
std::optional<std::size_t> select_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                        Cases&&... cases) {
  return detail::select_until_steady(detail::deadline_at(deadline), {}, cases...);
}

}  // namespace cppless::fiber
