// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cerrno>
#include <system_error>

namespace bench {

/// Keeps the calling thread on one of the cores that it may use, until destroyed. The floor is
/// measured with its two sides on a core each; left to itself the kernel may put both on one.
class pinned {
 public:
  /// `core`: 0 is the first core that the thread may use; counts on from the first if there are
  /// fewer.
  explicit pinned(int core) {
    check(sched_getaffinity(0, sizeof before_, &before_), "sched_getaffinity");
    core %= CPU_COUNT(&before_);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &before_) && core-- == 0) {
        cpu_set_t chosen;
        CPU_ZERO(&chosen);
        CPU_SET(cpu, &chosen);
        check(sched_setaffinity(0, sizeof chosen, &chosen), "sched_setaffinity");
        return;
      }
    }
  }
  ~pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;

 private:
  static void check(int result, const char* call) {
    if (result != 0) {
      throw std::system_error(errno, std::generic_category(), call);
    }
  }

  cpu_set_t before_;
};

}  // namespace bench
