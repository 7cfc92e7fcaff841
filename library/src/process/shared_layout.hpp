// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/fence.hpp"
#include "base/futex.hpp"

namespace cppless::detail {

// What host and workers share. Workers can write all of `shared_control`, so the host believes
// nothing in it without checking; the request payloads lie in memory that workers only read, and
// each worker's large results in memory of its own.

inline constexpr std::uint32_t slot_count = 4096;
inline constexpr std::uint32_t variable_cells = 4096;
inline constexpr std::uint32_t queue_cells = 16384;  ///< Several times slot_count: stale cells happen.
inline constexpr std::uint32_t max_workers = 1024;
inline constexpr std::uint32_t no_slot = 0xffffffff;
inline constexpr std::size_t inline_request_bytes = 40;
inline constexpr std::size_t inline_result_bytes = 80;
inline constexpr std::size_t first_line_result_bytes = 16;  ///< Of them in the record's first line.

enum class slot_phase : std::uint8_t {
  free,   ///< Nobody's.
  ready,  ///< Waits in a queue.
  taken,  ///< A worker runs it, or has reported it.
};

enum class run_outcome : std::uint8_t {
  result,
  exception,
  out_of_memory,
  result_and_updates,  ///< Of shared variables; they stand behind the result.
};

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

/// The request of one task in flight: a single cache line, which goes from the host to the worker
/// that claims it and comes back when the slot is used again.
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
      std::uint64_t started;  ///< In ticks; set by the worker where there is a time limit.
    } request;
  };
};
static_assert(sizeof(task_slot) == 64);

/// What a worker reports of a task. Times are ticks (base/ticks.hpp).
struct alignas(64) finished_record {
  std::atomic<std::uint64_t> number{0};  ///< The worker's how manieth; written last.
  std::uint16_t slot;
  run_outcome outcome;
  std::uint8_t is_cold;
  std::uint32_t generation;
  std::uint64_t started;
  std::uint64_t ended;
  std::uint64_t result_size;
  std::uint32_t peak_memory_kib;
  std::uint32_t waited_us;  ///< For tasks that it dispatched.
  union {
    std::byte inline_result[inline_result_bytes];  ///< Where result_size fits.
    std::uint64_t result_offset;                   ///< Else: in the worker's own memory.
  };
};
static_assert(sizeof(finished_record) == 128);
static_assert(offsetof(finished_record, inline_result) + first_line_result_bytes == 64);
static_assert(slot_count <= 0xffff);

/// What one worker has finished, in order; the host alone reads. It is never full, for each record
/// that the host has not read holds a slot.
struct finished_ring {
  finished_record records[slot_count];

  finished_record& at(std::uint64_t position) noexcept { return records[position % slot_count]; }
  /// Whether the record after the first `position` ones has been written.
  bool has(std::uint64_t position) const noexcept {
    return records[position % slot_count].number.load(std::memory_order_acquire) == position + 1;
  }
};

/// An entry of a task_queue: which use of which slot, and in which round of the queue it was
/// written, so that a reader sees from the cell itself whether there is something.
struct queue_entry {
  static constexpr unsigned slot_bits = 12;
  static constexpr unsigned round_bits = 20;
  static_assert(slot_count == 1u << slot_bits);

  std::uint32_t slot;
  std::uint32_t round;
  std::uint32_t generation;

  static std::uint32_t round_of(std::uint64_t position) noexcept {
    return static_cast<std::uint32_t>(position / queue_cells + 1) & ((1u << round_bits) - 1);
  }
  std::uint64_t packed() const noexcept {
    return slot | (std::uint64_t{round} << slot_bits) | (std::uint64_t{generation} << 32);
  }
  static queue_entry unpack(std::uint64_t word) noexcept {
    const auto low = static_cast<std::uint32_t>(word);
    return {low & (slot_count - 1), low >> slot_bits, static_cast<std::uint32_t>(word >> 32)};
  }
  /// Rounds since that of `position`; negative: the cell still waits to be written in that round.
  std::int32_t rounds_since(std::uint64_t position) const noexcept {
    constexpr unsigned unused = 32 - round_bits;
    return static_cast<std::int32_t>((round - round_of(position)) << unused) >> unused;
  }
};

/// A bounded queue of slots: one producer (the host, which alone knows its end), many consumers.
/// Nobody takes entries out: every worker walks along and tries to claim each slot it comes by. An
/// entry is a hint only, the slot's state decides: stale or doubled ones do no harm, and a worker
/// may die anywhere on its way.
struct task_queue {
  alignas(64) std::atomic<std::uint64_t> passed{0};  ///< No entry before is left; may lag behind.
  alignas(64) std::atomic<std::uint64_t> cells[queue_cells];

  queue_entry at(std::uint64_t position) const noexcept {
    return queue_entry::unpack(cells[position % queue_cells].load(std::memory_order_acquire));
  }
  void write(std::uint64_t position, std::uint32_t slot, std::uint32_t generation) noexcept {
    const queue_entry entry{slot, queue_entry::round_of(position), generation};
    cells[position % queue_cells].store(entry.packed(), std::memory_order_release);
  }
  bool is_end(std::uint64_t position) const noexcept {
    return at(position).rounds_since(position) < 0;
  }
};

/// How far a worker had come in a task at which time (ticks), in traced programs. Of the record at the
/// same place of the worker's finished_ring.
struct marks_ring {
  struct {
    std::uint64_t decoded;
    std::uint64_t called;
  } marks[slot_count];
};

/// One producer, one consumer. Full or empty is for the two sides to look at first. The host trusts
/// neither end and keeps its own for itself.
template <class Message, std::uint32_t Cells>
struct message_ring {
  alignas(64) std::atomic<std::uint64_t> head{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  Message cells[Cells];

  static constexpr std::uint32_t capacity = Cells;

  bool is_full() const noexcept {
    return tail.load(std::memory_order_relaxed) - head.load(std::memory_order_acquire) >= Cells;
  }
  bool is_empty() const noexcept {
    return head.load(std::memory_order_relaxed) == tail.load(std::memory_order_acquire);
  }
  /// By the producer, whose how manieth message this is.
  void write(std::uint64_t position, const Message& message) noexcept {
    cells[position % Cells] = message;
    tail.store(position + 1, std::memory_order_release);
  }
  void push(const Message& message) noexcept {
    write(tail.load(std::memory_order_relaxed), message);
  }
  Message at(std::uint64_t position) const noexcept { return cells[position % Cells]; }
  Message front() const noexcept { return at(head.load(std::memory_order_relaxed)); }
  void pop() noexcept {
    head.store(head.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

/// From a task to the host: what it dispatches itself.
struct outbox_message {
  enum class kind_type : std::uint8_t { submit, cancel, wait_begins, wait_ends, decoded };
  kind_type kind;
  std::uint64_t local_id;  ///< The worker's own number for the task it dispatches.
  std::uint64_t identity;
  std::uint64_t offset;    ///< Of the request, in the worker's memory.
  std::uint64_t size;

  // In traced programs. Of `submit`: when its encoding began and ended, and in which slot the task
  // is that dispatches it. Of `decoded`: when that began and ended. Times are ticks.
  std::uint64_t trace_begin = 0;
  std::uint64_t trace_end = 0;
  std::uint32_t trace_slot = 0;
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
  std::uint64_t id;  ///< The host's, for the worker to name it to the trace.
};

enum class worker_command : std::uint32_t { run, park, exit };

struct alignas(64) worker_record {
  std::atomic<std::uint32_t> command{0};        ///< worker_command; a futex while parked.
  std::atomic<std::uint32_t> is_alive{0};       ///< The worker reached its loop.
  std::atomic<std::uint32_t> wake_word{0};      ///< Futex of its sleep; whoever wakes clears its bit.
  std::atomic<std::uint64_t> current_identity{0};
  std::atomic<std::uint64_t> current_start{0};  ///< When the current task was started, in ticks.
  std::uint64_t first_record = 0;               ///< Where this worker's records begin.
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
  alignas(64) std::atomic<std::uint32_t> bell{0};             ///< bell_target; the driver's futex.
  alignas(64) std::atomic<std::uint64_t> asleep[max_workers / 64];  ///< A bit for each sleeper.
  alignas(64) std::atomic<std::uint32_t> messages{0};         ///< Outbox messages ever sent.
  alignas(64) std::uint64_t host_pid = 0;
  std::uint32_t fences_are_asymmetric = 0;  ///< See base/fence.hpp.
  std::uint32_t is_traced = 0;
  std::uint32_t concurrency = 1;            ///< Tasks that the host has run at once.
  task_queue urgent;  ///< Tasks that other tasks wait for.
  task_queue regular;
  task_slot slots[slot_count];
  worker_record workers[max_workers];
  finished_ring finished[max_workers];
  std::atomic<std::uint64_t> variables[variable_cells];  ///< Shared ones, by the numbers of their cells less 1.
  marks_ring marks[max_workers];
};

/// Wakes up to `count` sleeping workers of the first `among`, none of them twice. The caller has
/// made work visible before.
inline void wake_sleepers(shared_control& control, unsigned count,
                          std::uint32_t among = max_workers) noexcept {
  light_fence();
  for (std::uint32_t word = 0; word * 64 < among; ++word) {
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
