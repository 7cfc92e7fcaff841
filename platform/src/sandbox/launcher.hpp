// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/cgroup.hpp"
#include "sandbox/protocol.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

namespace platform::sandbox {

/// A descriptor that is closed with its owner.
class owned_descriptor {
 public:
  owned_descriptor() = default;
  explicit owned_descriptor(int fd) : fd_(fd) {}
  owned_descriptor(owned_descriptor&& other) noexcept : fd_(other.release()) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept;
  ~owned_descriptor();
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

/// What the server holds of a sandbox that was started.
struct started {
  owned_descriptor runtime_listener, platform_listener, output, control, process;
};

/// The server's side of the spawner process. Used from the I/O thread.
class launcher {
 public:
  /// Starts the spawner, which is this program once more. Throws if it cannot work at all.
  launcher(boost::asio::io_context& context, const std::filesystem::path& run_directory,
           const std::filesystem::path& code_directory);
  ~launcher();

  const abilities& can() const { return can_; }
  const cgroups& groups() const { return groups_; }

  using on_start = std::function<void(std::optional<started>, std::string why_not)>;
  void start(const start_request& request, on_start call);

  /// Called if the spawner ended: nothing can be started any more.
  std::function<void()> on_loss;

 private:
  void wait();
  void take_message();

  owned_descriptor child_socket_;
  cgroups groups_;
  abilities can_;
  boost::asio::posix::stream_descriptor socket_;
  pid_t child_ = -1;
  std::unordered_map<std::uint64_t, on_start> waiting_;
};

}  // namespace platform::sandbox
