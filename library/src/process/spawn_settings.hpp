// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <cppless/errors.hpp>

#include "base/system_call.hpp"

extern char** environ;

namespace cppless::detail {

inline void check_spawn(int code, const char* call) {
  if (code == 0) return;
  throw rejected(std::string("cannot start a process: ") + call + " failed: " +
                 std::strerror(code) + " (errno " + std::to_string(code) + ")");
}

/// How a process is to be started.
class spawn_settings {
 public:
  spawn_settings() {
    check_spawn(::posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
    check_spawn(::posix_spawnattr_init(&attributes), "posix_spawnattr_init");
  }
  ~spawn_settings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  void give(int descriptor, int as) {
    check_spawn(::posix_spawn_file_actions_adddup2(&actions, descriptor, as), "adddup2");
  }
  /// Closes all from `first` on.
  void close_from(int first) {
#ifdef __GLIBC__
    check_spawn(::posix_spawn_file_actions_addclosefrom_np(&actions, first), "addclosefrom");
#else  // those that are open now: what another thread opens meanwhile without O_CLOEXEC is missed
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), &::closedir);
    check_system_call(open ? 0 : -1, "opendir", "/proc/self/fd");
    while (const dirent* entry = ::readdir(open.get())) {
      const int each = std::atoi(entry->d_name);
      if (each >= first && each != ::dirfd(open.get()))
        check_spawn(::posix_spawn_file_actions_addclose(&actions, each), "addclose");
    }
#endif
  }
  /// The program's own image, with this process's environment and `variable` ("NAME=value").
  pid_t start_own_image(std::string variable) const {
    std::vector<char*> variables;
    for (char** at = environ; *at != nullptr; ++at) variables.push_back(*at);
    variables.push_back(variable.data());
    variables.push_back(nullptr);
    char* arguments[] = {program_invocation_name, nullptr};
    pid_t started = -1;
    check_spawn(::posix_spawn(&started, "/proc/self/exe", &actions, &attributes, arguments,
                              variables.data()),
                "posix_spawn(/proc/self/exe)");
    return started;
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace cppless::detail
