// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <cppless/errors.hpp>

namespace cppless::detail {

/// Whether tasks made from now on are traced (CPPLESS_TRACE). All that a task costs where they are
/// not is a look at this, and at its own null pointer.
extern std::atomic<bool> is_tracing;

/// What is known of one traced task: when it was where, and what it moved. Times are ticks
/// (base/ticks.hpp); 0: it never came there.
struct task_trace {
  std::uint64_t created = 0;         ///< Its encoding began; it ended when the job was submitted.
  std::uint64_t encoded = 0;         ///< Only where that was in another process.
  std::uint64_t send_begins = 0;     ///< Of the last attempt, as all that follows.
  std::uint64_t send_ends = 0;       ///< 0 where the far side's first sign of life ends it.
  std::uint64_t started = 0;
  std::uint64_t decoded = 0;         ///< Within the run: captures and arguments were there,
  std::uint64_t called = 0;          ///< and the callable had returned.
  std::uint64_t ended = 0;
  std::uint64_t received = 0;        ///< The decoding of its outcome began,
  std::uint64_t settled = 0;         ///< and ended.
  std::uint64_t sent_bytes = 0;      ///< As the transport sends them: base64 on Lambda.
  std::uint64_t received_bytes = 0;
  std::uint64_t worker_process = 0;  ///< Where it ran: which line of the picture.
  std::uint64_t worker_thread = 0;
  std::uint64_t creator = 0;         ///< The thread that encoded it; its process where not the host.
  std::uint64_t parent = 0;          ///< Id of the task that dispatched it; 0: the program itself.
  const char* dispatcher = "";
  bool has_failed = false;
  error_kind kind = error_kind::lost;
  std::string message;               ///< Of its failure.
};

/// The trace of a task whose encoding begins now.
std::unique_ptr<task_trace> start_task_trace();

/// Where the run of a task notes how far it has come: in workers of a traced program. Null elsewhere.
struct run_marks {
  std::atomic<std::uint64_t> decoded{0};
  std::atomic<std::uint64_t> called{0};
};
extern std::atomic<run_marks*> current_marks;

enum class run_mark { decoded, called };
void set_mark(run_mark which) noexcept;

inline void mark(run_mark which) noexcept {
  if (current_marks.load(std::memory_order_relaxed) != nullptr) [[unlikely]] set_mark(which);
}

}  // namespace cppless::detail
