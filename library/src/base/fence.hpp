// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace cppless::detail {

// A barrier between a store and a later load, for two sides of which one is in a hurry: whoever
// makes work visible and then looks for sleepers (`light_fence`, free), and whoever announces its
// sleep and then looks for work (`heavy_fence`, a system call that runs a barrier on every core
// where a registered process is running). It holds between processes.

inline constinit std::atomic<bool> light_fences_are_free{false};

/// Once in each process, before its first fence. False where the kernel does not offer it; both
/// kinds are then the usual barrier. Host and workers must agree.
inline bool register_for_heavy_fences() noexcept {
  const bool done =
      ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  light_fences_are_free.store(done, std::memory_order_relaxed);
  return done;
}

inline void light_fence() noexcept {
  if (light_fences_are_free.load(std::memory_order_relaxed)) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

inline void heavy_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (light_fences_are_free.load(std::memory_order_relaxed)) [[likely]] {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  }
}

/// Has the cache line brought here for writing; by the time it is written it need not be waited for.
inline void prefetch_for_writing(const void* line) noexcept { __builtin_prefetch(line, 1); }

}  // namespace cppless::detail
