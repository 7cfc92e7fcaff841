// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/futex.hpp"

namespace cppless::detail {

// What host and workers share. Workers can write all of `shared_control`, so the host believes
// nothing in it without checking; the request payloads lie in memory that workers only read, and
// each worker's large results in memory of its own.

inline constexpr std::uint32_t slot_count = 4096;
inline constexpr std::uint32_t queue_cells = 16384;  ///< Several times slot_count: stale cells happen.
inline constexpr std::uint32_t max_workers = 1024;
inline constexpr std::uint32_t no_slot = 0xffffffff;
inline constexpr std::size_t inline_request_bytes = 40;
inline constexpr std::size_t inline_result_bytes = 88;

enum class slot_phase : std::uint8_t {
  free,   ///< Nobody's.
  ready,  ///< Waits in a queue.
  taken,  ///< A worker runs it.
  done,   ///< Its outcome is in the slot.
};

enum class run_outcome : std::uint8_t { result, exception, out_of_memory };

/// Phase, the worker that took it, and a generation that changes with each use, in one word: a
/// worker owns a task from one compare-and-swap on, wherever it dies.
struct slot_state {
  slot_phase phase = slot_phase::free;
  std::uint16_t worker = 0;
  std::uint32_t generation = 0;

  std::uint64_t packed() const noexcept {
    return static_cast<std::uint64_t>(phase) | (std::uint64_t{worker} << 8) |
           (std::uint64_t{generation} << 32);
  }
  static slot_state unpack(std::uint64_t word) noexcept {
    return {static_cast<slot_phase>(word & 3), static_cast<std::uint16_t>(word >> 8),
            static_cast<std::uint32_t>(word >> 32)};
  }
};

/// One task in flight. The first cache line is written by the host (and claimed by the worker), the
/// others by the worker.
struct alignas(64) task_slot {
  std::atomic<std::uint64_t> state{0};
  std::uint64_t identity = 0;  ///< Which entry to run.
  std::uint32_t inline_size = 0;
  std::uint32_t is_inline = 0;
  union {
    std::byte inline_request[inline_request_bytes];
    struct {
      std::uint64_t offset;  ///< In the request memory.
      std::uint64_t size;
      std::uint64_t timeout_ns;
      std::uint64_t memory_bytes;
    } request;
  };

  alignas(64) std::atomic<std::uint32_t> next_done{no_slot};
  run_outcome outcome = run_outcome::result;
  std::uint8_t is_cold = 0;
  std::uint64_t started_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t peak_memory = 0;
  std::uint64_t result_size = 0;
  union {
    std::byte inline_result[inline_result_bytes];  ///< Where result_size fits.
    std::uint64_t result_offset;                   ///< Else: in the worker's own memory.
  };
};
static_assert(sizeof(task_slot) == 192);

/// A bounded queue of slot numbers: one producer (the host), many consumers. An entry is a hint
/// only: the slot's state decides who gets the task, so stale or doubled entries do no harm.
struct task_queue {
  alignas(64) std::atomic<std::uint64_t> head{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  alignas(64) std::atomic<std::uint32_t> cells[queue_cells];

  bool is_empty() const noexcept {
    return head.load(std::memory_order_relaxed) >= tail.load(std::memory_order_acquire);
  }
  std::uint64_t length() const noexcept {
    const std::uint64_t begin = head.load(std::memory_order_relaxed);
    const std::uint64_t end = tail.load(std::memory_order_relaxed);
    return end > begin ? end - begin : 0;
  }
  void push(std::uint32_t slot) noexcept {
    const std::uint64_t at = tail.load(std::memory_order_relaxed);
    cells[at % queue_cells].store(slot, std::memory_order_relaxed);
    tail.store(at + 1, std::memory_order_release);
  }
  std::uint32_t pop() noexcept {
    std::uint64_t at = head.load(std::memory_order_relaxed);
    while (at < tail.load(std::memory_order_acquire)) {
      const std::uint32_t slot = cells[at % queue_cells].load(std::memory_order_relaxed);
      if (head.compare_exchange_weak(at, at + 1, std::memory_order_acq_rel)) return slot;
    }
    return no_slot;
  }
};

/// One producer, one consumer. Full or empty is for the two sides to look at first.
template <class Message, std::uint32_t Cells>
struct message_ring {
  alignas(64) std::atomic<std::uint64_t> head{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  Message cells[Cells];

  bool is_full() const noexcept {
    return tail.load(std::memory_order_relaxed) - head.load(std::memory_order_acquire) >= Cells;
  }
  bool is_empty() const noexcept {
    return head.load(std::memory_order_relaxed) == tail.load(std::memory_order_acquire);
  }
  void push(const Message& message) noexcept {
    const std::uint64_t at = tail.load(std::memory_order_relaxed);
    cells[at % Cells] = message;
    tail.store(at + 1, std::memory_order_release);
  }
  Message front() const noexcept {
    return cells[head.load(std::memory_order_relaxed) % Cells];
  }
  void pop() noexcept {
    head.store(head.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

/// From a task to the host: what it dispatches itself.
struct outbox_message {
  enum class kind_type : std::uint8_t { submit, cancel, wait_begins, wait_ends };
  kind_type kind;
  std::uint64_t local_id;  ///< The worker's own number for the task it dispatches.
  std::uint64_t identity;
  std::uint64_t offset;    ///< Of the request, in the worker's memory.
  std::uint64_t size;
};

/// From the host to a task: the outcome of what it dispatched.
struct inbox_message {
  enum class kind_type : std::uint8_t { result, failure, execute };
  kind_type kind;
  std::uint8_t is_cold;
  std::uint32_t attempts;
  std::uint64_t local_id;
  std::uint64_t offset;  ///< Of the bytes, in the request memory; of `execute`, the slot.
  std::uint64_t size;
  std::uint64_t queue_ns;
  std::uint64_t run_ns;
  std::uint64_t peak_memory;
};

enum class worker_command : std::uint32_t { run, park, exit };

struct alignas(64) worker_record {
  std::atomic<std::uint32_t> command{0};        ///< worker_command; a futex while parked.
  std::atomic<std::uint32_t> is_alive{0};       ///< The worker reached its loop.
  std::atomic<std::uint32_t> wake_word{0};      ///< Futex of its sleep; whoever wakes clears its bit.
  std::atomic<std::uint64_t> current_identity{0};
  std::atomic<std::uint32_t> output_word{0};    ///< Futex: the host has read the worker's output.
  std::atomic<std::uint32_t> output_is_read{0}; ///< The host is between reading and showing it.
  std::atomic<std::uint32_t> line_is_open{0};   ///< What the host has read does not end a line.
  std::atomic<std::uint32_t> inbox_word{0};     ///< Futex: changes with each message.
  message_ring<outbox_message, 64> outbox;
  message_ring<inbox_message, 64> inbox;
};

/// Who is to be told when something is done.
enum class bell_target : std::uint32_t { nobody, supervisor, driver };

struct shared_control {
  alignas(64) std::atomic<std::uint32_t> done_head{no_slot};  ///< Stack of finished slots.
  alignas(64) std::atomic<std::uint32_t> bell{0};             ///< bell_target; the driver's futex.
  alignas(64) std::atomic<std::uint64_t> asleep[max_workers / 64];  ///< A bit for each sleeper.
  alignas(64) std::atomic<std::uint32_t> messages{0};         ///< Outbox messages ever sent.
  std::uint64_t host_pid = 0;
  task_queue urgent;  ///< Tasks that other tasks wait for.
  task_queue regular;
  task_slot slots[slot_count];
  worker_record workers[max_workers];
};

/// Wakes up to `count` sleeping workers, none of them twice. The caller has made work visible before.
inline void wake_sleepers(shared_control& control, unsigned count) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::uint32_t word = 0; word < max_workers / 64; ++word) {
    std::uint64_t sleepers = control.asleep[word].load(std::memory_order_relaxed);
    while (sleepers != 0) {
      if (count == 0) return;
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(sleepers));
      const std::uint64_t mask = std::uint64_t{1} << bit;
      const std::uint64_t before = control.asleep[word].fetch_and(~mask);
      sleepers = before & ~mask;
      if ((before & mask) == 0) continue;
      std::atomic<std::uint32_t>& futex = control.workers[word * 64 + bit].wake_word;
      futex.fetch_add(1, std::memory_order_seq_cst);
      futex_wake(futex);
      --count;
    }
  }
}

/// The descriptors a worker finds open, and the variable that tells a process it is a worker.
inline constexpr int control_descriptor = 3;
inline constexpr int request_descriptor = 4;
inline constexpr int worker_memory_descriptor = 5;
inline constexpr int bell_descriptor = 6;
inline constexpr const char* worker_variable = "CPPLESS_WORKER_INDEX";

}  // namespace cppless::detail
