// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/protocol.hpp"

#include <string>
#include <vector>

namespace platform::sandbox {

/// What the process that was cloned into new namespaces is told.
struct init_task {
  const start_request* request;
  const abilities* can;
  int server;                ///< where the descriptors are sent
  std::vector<int> cgroups;  ///< doors: see cgroups::create
  unsigned uid;              ///< outside; used by root only
  bool as_root;
  bool limit_memory;         ///< by RLIMIT_DATA, as there is no cgroup
  std::string directory;     ///< where the function starts: its code
};

/// The first process of a sandbox: prepares it, starts the function in it, reports its end over the
/// control socket (an int as of waitpid) and ends, by which the kernel ends all others. It also ends
/// when the control socket is closed.
[[noreturn]] void run_init(const init_task& task);

/// What init writes instead of a status if it could not prepare the sandbox: this, then a text.
inline constexpr int preparation_failed = -1;

}  // namespace platform::sandbox
