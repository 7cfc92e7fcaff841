// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/trace/task_trace.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/ticks.hpp"

namespace cppless::detail {

constinit std::atomic<bool> is_tracing{false};
constinit std::atomic<run_marks*> current_marks{nullptr};

std::unique_ptr<task_trace> start_task_trace() {
  static thread_local const auto thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  auto made = std::make_unique<task_trace>();
  made->creator = thread;
  made->created = ticks();
  return made;
}

void set_mark(run_mark which) noexcept {
  run_marks& marks = *current_marks.load(std::memory_order_relaxed);
  if (which == run_mark::called) {
    marks.called.store(ticks(), std::memory_order_relaxed);
  } else if (marks.decoded.load(std::memory_order_relaxed) == 0) {
    // Tasks that this one runs in its own process come later: theirs does not count.
    marks.decoded.store(ticks(), std::memory_order_relaxed);
  }
}

}  // namespace cppless::detail
