// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <cppless/binary_archive.hpp>
#include <cppless/detail/task/channel_state.hpp>
#include <cppless/errors.hpp>

namespace cppless {

/// How a wait for a channel ended.
enum class channel_status {
  done,     ///< A message was sent or received.
  timeout,  ///< Not within the time given.
  closed,   ///< The channel was closed; for receivers: and is empty.
};

/// A bounded queue of messages between the program and its tasks, and among tasks, on one machine.
///
///     const cppless::channel<progress> reports;
///     auto done = cppless::async(workers, [reports] { ... reports.send({step}); ... });
///     while (auto report = reports.receive()) show(*report);
///
/// A handle: copies stand for the same channel. Made in the program, it reaches tasks as a capture or
/// argument. Any number may send and receive; each message is received once, in the order in which
/// they were sent. Thread-safe.
///
/// The channel is closed by `close`, or when the program has let go of its last handle: then sends
/// throw `cancelled`, and receives end once it is empty. Where the program waits for messages and
/// all tasks that had the channel have ended, with nothing left to receive, `receive` throws `lost`:
/// nobody is there to send. A task that is started again sends again what it had sent before it
/// died, and what it had received is gone.
///
/// A message takes at most 4,000 bytes encoded: send what is larger as a `shared` value, or as a
/// result. Tasks that wait for a channel hold no worker: another one stands in. On Lambda there is no
/// way between two tasks: dispatching one with a channel throws `rejected` there. The nodes of a graph
/// can capture channels, but those of a graph that a node returns cannot.
/// Costs: a system call for each message, and some 20 us to wake who sleeps.
template <class T>
class channel {
  static_assert(detail::is_serializable<T>, "the messages of a channel must be serialisable");

 public:
  using value_type = T;

  /// For that many messages, 1 to 256, beyond which senders wait. Throws `rejected` for another
  /// number, std::system_error if the system gives no more descriptors.
  explicit channel(std::size_t capacity = 64)
      : state_(detail::make_channel(capacity)) {}

  /// Waits for room. Throws `cancelled` if the channel is closed, `rejected` if the message is too
  /// large.
  void send(const T& message) const {
    if (send_until(message, detail::channel_time::max()) == channel_status::closed) {
      throw cancelled("the channel was closed: nobody receives what is sent");
    }
  }

  template <class Rep, class Period>
  channel_status send_for(const T& message, std::chrono::duration<Rep, Period> most) const {
    return send_until(message, detail::channel_deadline(most));
  }

  /// Waits for a message; nothing once the channel is closed and empty. Throws `lost` where nobody
  /// can send (see above).
  std::optional<T> receive() const {
    const bytes message = detail::receive(*state_, detail::channel_time::max()).message;
    if (message.empty()) return std::nullopt;
    return decoded(message);
  }

  template <class Rep, class Period>
  channel_status receive_for(T& message, std::chrono::duration<Rep, Period> most) const {
    detail::received got = detail::receive(*state_, detail::channel_deadline(most));
    if (!got.message.empty()) message = decoded(got.message);
    return static_cast<channel_status>(got.how);
  }

  /// Nothing more can be sent; what was sent can still be received.
  void close() const { detail::close(*state_); }

  /// For the templates of this library.
  struct undefined {};
  explicit channel(undefined) noexcept {}
  const std::shared_ptr<detail::channel_state>& state() const noexcept { return state_; }

  template <class Archive>
  void save(Archive& archive) const {
    static_assert(std::is_same_v<Archive, detail::binary_output_archive>,
                  "a channel can be sent with tasks only");
    detail::write_channel(archive.raw(), state_);
  }

  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<channel>& made) {
    made(undefined{});
    made->state_ = detail::read_channel(archive.raw());
  }

 private:
  channel_status send_until(const T& message, detail::channel_time until) const {
    detail::message_sink encoded;
    detail::encode(encoded, message);
    return static_cast<channel_status>(detail::send(*state_, encoded, until));
  }

  static T decoded(const bytes& message) {
    detail::source from(message.data() + detail::message_head, message.size() - detail::message_head);
    T value = detail::decode<T>(from);
    from.finish();
    return value;
  }

  std::shared_ptr<detail::channel_state> state_;
};

/// Waits until one of the channels has something to receive, or is closed and empty: its place among
/// them; nothing if the time is over. Another receiver may be quicker: then `receive` waits.
template <class Rep, class Period, class... T>
std::optional<std::size_t> select_for(std::chrono::duration<Rep, Period> most,
                                      const channel<T>&... channels) {
  detail::channel_state* const all[] = {channels.state().get()...};
  return detail::select(all, sizeof...(T), detail::channel_deadline(most));
}

template <class... T>
std::size_t select(const channel<T>&... channels) {
  detail::channel_state* const all[] = {channels.state().get()...};
  return *detail::select(all, sizeof...(T), detail::channel_time::max());
}

}  // namespace cppless
