// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <cppless/detail/fiber/waiting.hpp>
#include <cppless/detail/fiber/worker.hpp>

#include "fiber/ready_queue.hpp"
#include "fiber/stacks.hpp"

namespace cppless::fiber::detail {

class scheduler;

/// What becomes of the fiber that was left, once nothing runs on its stack any more.
struct departure {
  enum class kind { none, released, parked, yielded };
  kind how = kind::none;
  fiber_record* left = nullptr;
  waiter* on = nullptr;  // of parked ones
};

/// All that a thread schedules with. Threads that are no workers have one too: their tasks are
/// stolen, and fibers they wake go to the scheduler. Kept after its thread's end, for the next one.
struct processor : worker {
  scheduler* of = nullptr;        // null: not a worker
  fiber_record* fiber = nullptr;  // whose stack is in use; null on a thread's own
  fiber_record native;            // the thread's own stack
  exceptions_in_flight* exceptions = nullptr;  // the thread's
  departure departed;
  fiber_record* origin = nullptr;    // of the latest switch
  fiber_record* arriving = nullptr;  // its target
  ready_queue ready;
  fiber_record* spare = nullptr;  // stacks for what comes next
  unsigned spares = 0;
  std::uint32_t turn = 0;
  bool has_yielded = false;       // the fiber that was left: what has waited longest comes first
  local_slot thread_locals;       // of a plain thread
  std::atomic<std::uint32_t> bell{0};   // rung to end a worker's sleep
  processor* next_idle = nullptr;
  processor* next_known = nullptr;      // in the list of all, for good
  std::atomic<bool> in_use{true};
};

/// Of the calling thread; there must be one.
inline processor& this_processor() noexcept { return static_cast<processor&>(*current()); }

/// All that there ever were; follow `next_known`.
processor* known_processors() noexcept;

}  // namespace cppless::fiber::detail
