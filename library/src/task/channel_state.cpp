// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/channel_state.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

#include <cppless/detail/task/instance_core.hpp>
#include <cppless/detail/task/shared_bytes.hpp>
#include <cppless/errors.hpp>

#include "base/file_descriptor.hpp"
#include "base/system_call.hpp"
#include "task/fiber_waits.hpp"

/// A channel is a pipe in packet mode: the kernel keeps messages whole and in order, wakes who waits,
/// and is not troubled by processes that die. Tasks open it by the descriptors of the process that
/// made it, below /proc.

namespace cppless::detail {
namespace {

constexpr std::size_t most_messages = 256;  // a pipe of 1 MiB, which is what users may have
constexpr std::size_t page = 4096;
// What a packet is, in its first byte.
constexpr std::byte is_message{1};
constexpr std::byte is_end{2};
// A closed channel's pipe bears this mark, which all processes see that have it open.
constexpr mode_t closed_mode = S_IXUSR;

// A wait looks that often whether the channel was closed, or nobody is left to send: both are rare,
// and the end also shows in the pipe.
constexpr auto look_interval = std::chrono::milliseconds(50);
// Then somebody stands in for a task that waits.
constexpr auto patience = std::chrono::milliseconds(1);

struct address {
  std::int64_t process;
  std::int32_t reading;
  std::int32_t writing;
};

file_descriptor open_end(const address& of, int descriptor, int flags) {
  const std::string path =
      "/proc/" + std::to_string(of.process) + "/fd/" + std::to_string(descriptor);
  return file_descriptor(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
}

// Writing to a pipe that nobody can read any more must not end the process.
ssize_t write_packet(int to, const void* data, std::size_t size) noexcept {
  sigset_t pipe;
  sigset_t before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = ::write(to, data, size);
  const int error = errno;
  if (written < 0 && error == EPIPE) {
    const timespec now{};
    ::sigtimedwait(&pipe, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

class channel_state : public std::enable_shared_from_this<channel_state> {
 public:
  // Where it is made.
  explicit channel_state(std::size_t capacity) {
    if (capacity < 1 || capacity > most_messages) {
      throw rejected("a channel for " + std::to_string(capacity) + " messages: 1 to " +
                     std::to_string(most_messages) + " are possible");
    }
    int ends[2];
    check_system_call(::pipe2(ends, O_DIRECT | O_NONBLOCK | O_CLOEXEC), "pipe2");
    reading_ = file_descriptor(ends[0]);
    writing_ = file_descriptor(ends[1]);
    check_system_call(::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(capacity * page)),
                      "fcntl(F_SETPIPE_SZ)");
    address_ = {::getpid(), ends[0], ends[1]};
    is_home_ = true;
  }

  // In a task. Opened when first used.
  explicit channel_state(const address& of) : address_(of) {}

  void close() noexcept {
    const std::lock_guard lock(mutex_);
    if (!open_writing()) return;
    ::fchmod(writing_.get(), S_IRUSR | S_IWUSR | closed_mode);
    write_packet(writing_.get(), &is_end, sizeof is_end);  // for those who wait
  }

  channel_end send(std::span<const std::byte> packet, channel_time until);
  received receive(channel_time until);

  /// The descriptor to poll for something to read; negative if the channel is gone.
  int readable() noexcept {
    const std::lock_guard lock(mutex_);
    return open_reading() ? reading_.get() : -1;
  }

  bool is_closed() noexcept {
    const std::lock_guard lock(mutex_);
    if (writing_.get() < 0 && !open_reading()) return true;
    struct stat about {};
    return ::fstat(writing_.get() >= 0 ? writing_.get() : reading_.get(), &about) != 0 ||
           (about.st_mode & closed_mode) != 0;
  }
  /// Whether there were tasks that could send, and now there are none.
  bool is_forsaken() const noexcept { return is_home_ && had_users_ && users_ == 0; }

  void add_user() noexcept {
    ++users_;
    had_users_ = true;
  }
  void remove_user() noexcept { --users_; }

  const address& where() const noexcept { return address_; }

 private:
  bool open_reading() noexcept {
    if (reading_.get() < 0) reading_ = open_end(address_, address_.reading, O_RDONLY);
    return reading_.get() >= 0;
  }
  bool open_writing() noexcept {
    if (writing_.get() >= 0) return true;
    writing_ = open_end(address_, address_.writing, O_WRONLY);
    // Packets; `open` does not take the flag for a pipe.
    return writing_.get() >= 0 && ::fcntl(writing_.get(), F_SETFL, O_NONBLOCK | O_DIRECT) == 0;
  }
  address address_{};
  bool is_home_ = false;
  std::atomic<bool> had_users_{false};
  std::atomic<unsigned> users_{0};
  std::mutex mutex_;  // of opening
  file_descriptor reading_;
  file_descriptor writing_;
};

namespace {

/// A wait for descriptors. Announced if it takes long and a task makes it.
class patient_poll {
 public:
  explicit patient_poll(channel_time until) : until_(until) {}
  ~patient_poll() {
    if (is_announced_) standing_in::installed()->wait_ends();
  }

  /// False once the time is over. Returns true now and then although nothing has come.
  bool wait(pollfd* all, std::size_t count) {
    const auto now = std::chrono::steady_clock::now();
    const bool may_announce = standing_in::installed() != nullptr && !is_announced_;
    const auto longest = may_announce ? std::chrono::nanoseconds(patience)
                                      : std::chrono::nanoseconds(look_interval);
    const auto left = std::clamp<std::chrono::nanoseconds>(until_ - now, {}, longest);
    const timespec most{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    int ready = 0;
    call_blocking([&] {
      ready = ::ppoll(all, count, &most, nullptr);
      if (ready < 0 && errno != EINTR) check_system_call(ready, "ppoll");
    });
    if (ready == 0 && until_ <= std::chrono::steady_clock::now()) return false;
    if (ready == 0 && may_announce) {
      is_announced_ = true;
      standing_in::installed()->wait_begins();
    }
    return true;
  }

 private:
  const channel_time until_;
  bool is_announced_ = false;
};

}  // namespace

channel_end channel_state::send(std::span<const std::byte> packet, channel_time until) {
  {
    const std::lock_guard lock(mutex_);
    if (!open_writing()) return channel_end::closed;
  }
  patient_poll room(until);
  for (;;) {
    if (is_closed()) return channel_end::closed;
    const ssize_t written = write_packet(writing_.get(), packet.data(), packet.size());
    if (written >= 0) return channel_end::done;
    if (errno == EPIPE) return channel_end::closed;
    if (errno != EAGAIN && errno != EINTR) check_system_call(written, "write to a channel");
    pollfd wanted{writing_.get(), POLLOUT, 0};
    if (!room.wait(&wanted, 1)) return channel_end::timeout;
  }
}

received channel_state::receive(channel_time until) {
  const int from = readable();
  if (from < 0) return {channel_end::closed, {}};
  bytes packet(page);
  bool has_end = false;
  patient_poll message(until);
  for (;;) {
    // Before the look into the pipe: what the last of them has sent is there then.
    const bool was_forsaken = is_forsaken();
    const bool was_closed = is_closed();
    const ssize_t size = ::read(from, packet.data(), packet.size());
    if (size > 0 && packet[0] == is_message) {
      packet.resize(static_cast<std::size_t>(size));
      return {channel_end::done, std::move(packet)};
    }
    if (size > 0) {  // the end; there may be messages behind
      has_end = true;
      continue;
    }
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
      check_system_call(size, "read from a channel");
    }
    if (size == 0 || was_closed) {
      if (has_end) close();  // the end stays there, for all others who read
      return {channel_end::closed, {}};
    }
    if (was_forsaken) {
      throw lost("no message will come: every task that had the channel has ended");
    }
    pollfd wanted{from, POLLIN, 0};
    if (!message.wait(&wanted, 1)) return {channel_end::timeout, {}};
  }
}

message_sink::message_sink() noexcept {
  begin_ = cur_ = room_;
  end_ = room_ + most;
  *cur_++ = is_message;
}

void message_sink::grow(std::size_t more) {
  throw rejected("a message of " + std::to_string(size() - message_head + more) +
                 " bytes or more does not fit into a channel, which takes " +
                 std::to_string(most - message_head) + ": send it as a shared value");
}

// Handles share one owner, which closes the channel; tasks under way keep the channel itself.
std::shared_ptr<channel_state> make_channel(std::size_t capacity) {
  auto made = std::make_shared<channel_state>(capacity);
  channel_state* const raw = made.get();
  return {raw, [made = std::move(made)](channel_state*) { made->close(); }};
}

channel_end send(channel_state& to, const message_sink& message, channel_time until) {
  return to.send({message.data(), message.size()}, until);
}

received receive(channel_state& from, channel_time until) { return from.receive(until); }

std::optional<std::size_t> select(channel_state* const* channels, std::size_t count,
                                  channel_time until) {
  std::vector<pollfd> wanted;
  for (std::size_t at = 0; at < count; ++at) wanted.push_back({channels[at]->readable(), POLLIN, 0});
  patient_poll any(until);
  for (;;) {
    for (std::size_t at = 0; at < count; ++at) {
      if (wanted[at].revents != 0 || wanted[at].fd < 0 || channels[at]->is_closed() ||
          channels[at]->is_forsaken()) {
        return at;
      }
    }
    if (!any.wait(wanted.data(), wanted.size())) return std::nullopt;
  }
}

void close(channel_state& closed) noexcept { closed.close(); }

void write_channel(sink& to, const std::shared_ptr<channel_state>& channel) {
  channel->add_user();
  sharing_scope::keep({channel.get(), [kept = channel->shared_from_this()](void*) {
                         kept->remove_user();
                       }});
  to.write(&channel->where(), sizeof(address));
}

std::shared_ptr<channel_state> read_channel(source& from) {
  address where;
  from.read(&where, sizeof where);
  return std::make_shared<channel_state>(where);
}

}  // namespace cppless::detail
