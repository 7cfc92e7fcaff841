// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace platform::sandbox {

/// What the kernel gives us here; found out once, at start.
struct abilities {
  bool namespaces = false;       ///< mount, pid, ipc, uts of one's own
  bool network = false;          ///< a network namespace too
  bool user = false;             ///< a user namespace too
  bool seccomp = false;
  int cgroup_version = 0;        ///< 0: none, 1 or 2
  bool memory = false;           ///< memory limit and peak by cgroup
  bool cpu = false;
  bool pids = false;
  bool freezer = false;
  std::vector<std::string> missing;  ///< sentences for whoever starts the server
};

/// A process to start in a sandbox of its own.
struct start_request {
  std::uint64_t id = 0;
  std::string code;                      ///< name of a directory below the code directory
  std::vector<std::string> command;      ///< program (path inside) and arguments
  std::vector<std::string> environment;  ///< NAME=value; the Runtime API's address is added
  std::uint64_t memory_mb = 128;
  std::uint64_t ephemeral_mb = 512;
};

/// Descriptors that come with a started sandbox, in this order.
enum class passed { runtime_listener, platform_listener, output, control, process, count };

/// One message per datagram of a SOCK_SEQPACKET socket: JSON, descriptors beside it.
std::string to_message(const start_request& request);
start_request to_start_request(const std::string& message);
std::string to_message(const abilities& found);
abilities to_abilities(const std::string& message);

/// Returns false at the end of the connection. Descriptors received are close-on-exec.
bool receive_message(int socket, std::string& message, std::vector<int>& descriptors);
bool send_message(int socket, const std::string& message, const std::vector<int>& descriptors = {});

/// Ports inside a network namespace; outside of one, any free ones.
inline constexpr unsigned short runtime_port = 9001;
inline constexpr unsigned short platform_port = 9002;

}  // namespace platform::sandbox
