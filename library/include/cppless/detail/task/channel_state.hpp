// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <cppless/bytes.hpp>
#include <cppless/detail/base/deadline.hpp>
#include <cppless/detail/wire/buffer.hpp>

namespace cppless::detail {

/// One end of a channel in this process: where it was made, or in a task that was given it.
class channel_state;

using channel_time = std::chrono::steady_clock::time_point;

template <class Rep, class Period>
channel_time channel_deadline(std::chrono::duration<Rep, Period> most) {
  return deadline_after(std::chrono::steady_clock::now(), most);
}

/// What stands before a message in the pipe.
inline constexpr std::size_t message_head = 1;

/// A message that is being encoded. Throws `rejected` when it becomes too large.
class message_sink final : public sink {
 public:
  static constexpr std::size_t most = 4096;  // PIPE_BUF: what the kernel keeps in one piece

  message_sink() noexcept;

 private:
  void grow(std::size_t more) override;

  std::byte room_[most];
};

/// As in channel_status.
enum class channel_end { done, timeout, closed };

struct received {
  channel_end how;
  bytes message;  ///< With its head; empty if there is none.
};

std::shared_ptr<channel_state> make_channel(std::size_t capacity);
channel_end send(channel_state& to, const message_sink& message, channel_time until);
received receive(channel_state& from, channel_time until);
std::optional<std::size_t> select(channel_state* const* channels, std::size_t count,
                                  channel_time until);
void close(channel_state& closed) noexcept;

void write_channel(sink& to, const std::shared_ptr<channel_state>& channel);
std::shared_ptr<channel_state> read_channel(source& from);

/// Told when a task that runs here begins and ends to wait for others, so that somebody can stand in
/// for it.
class standing_in {
 public:
  virtual void wait_begins() noexcept = 0;
  virtual void wait_ends() noexcept = 0;

  /// For the rest of the process.
  static void install(standing_in& told) noexcept { installed_ = &told; }
  static standing_in* installed() noexcept { return installed_; }

 protected:
  ~standing_in() = default;

 private:
  static inline constinit standing_in* installed_ = nullptr;
};

}  // namespace cppless::detail
