// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/task/shared_bytes.hpp>
#include <cppless/detail/trace/task_trace.hpp>

#include "base/shared_memory.hpp"
#include "process/arena.hpp"
#include "process/shared_layout.hpp"

namespace cppless::detail {

/// Blocks of the worker's own memory: results, kept until the host has freed their slot, and the
/// requests of tasks that a task dispatches. Thread-safe.
class result_blocks {
 public:
  explicit result_blocks(const shared_memory& memory) : arena_(memory), memory_(&memory) {}

  std::byte* allocate(std::size_t& capacity) {
    const std::lock_guard lock(mutex_);
    return memory_->data() + arena_.allocate(capacity);
  }
  void release(const std::byte* block, std::size_t capacity) noexcept {
    const std::lock_guard lock(mutex_);
    arena_.release(offset_of(block), capacity);
  }
  std::uint64_t offset_of(const std::byte* block) const noexcept {
    return static_cast<std::uint64_t>(block - memory_->data());
  }

  /// The block is in use until `slot`'s state is no longer `state`.
  void lend(const std::byte* block, std::size_t capacity, const task_slot& slot,
            std::uint64_t state);

  /// Takes back what the host has read.
  void reclaim() noexcept;

 private:
  struct loan {
    std::uint64_t offset;
    std::size_t capacity;
    const task_slot* slot;
    std::uint64_t state;
  };

  std::mutex mutex_;
  arena arena_;
  const shared_memory* memory_;
  std::vector<loan> loans_;
};

class result_sink;

/// A worker's place in a queue.
class queue_cursor {
 public:
  explicit queue_cursor(task_queue& queue) noexcept : queue_(queue) {}

  /// Claims the next task for `worker`: its slot, or no_slot.
  std::uint32_t claim(task_slot* slots, std::uint32_t worker) noexcept;

  bool is_at_end() const noexcept { return queue_.is_end(place()); }

 private:
  std::uint64_t place() const noexcept {
    return std::max(at_, queue_.passed.load(std::memory_order_relaxed));
  }

  task_queue& queue_;
  std::uint64_t at_ = 0;
};

/// The life of a worker process: takes tasks from the shared queues and runs them, one at a time
/// (a task that waits for others may be asked to run one of them meanwhile).
class worker_loop final : private shared_directory {
 public:
  /// Maps what the host passed on. Throws `rejected`.
  explicit worker_loop(std::uint32_t index);

  static worker_loop* current() noexcept { return current_; }

  /// Until the host says to end.
  void run();

  /// Runs the task in `slot`, which this worker owns.
  void run_slot(std::uint32_t slot);

  shared_control& control() noexcept { return *control_; }
  worker_record& record() noexcept { return *record_; }
  const shared_memory& requests() const noexcept { return requests_; }
  const shared_memory& memory() const noexcept { return memory_; }
  result_blocks& blocks() noexcept { return blocks_; }

  /// Of the task that runs now.
  std::uint32_t current_slot() const noexcept { return current_slot_; }

  /// The task has waited since `begin` (ticks) for tasks that it dispatched. Counts only on the
  /// task's own thread: beside others, it is no time lost.
  void add_wait(std::uint64_t begin) noexcept;

  /// Tells the host that something is done, if it is not looking by itself.
  void ring() noexcept;

 private:
  // shared_directory
  std::span<const std::byte> find(const content_key& key, std::uint64_t offset,
                                  std::uint64_t size) override;
  bool has_tasks() const noexcept { return !urgent_.is_at_end() || !regular_.is_at_end(); }
  std::uint32_t claim() noexcept;
  std::uint32_t wait_for_task();
  void sleep_until_woken() noexcept;
  source request_of(const task_slot& slot) const;
  run_outcome execute(task_slot& slot, std::uint64_t started, result_sink& result);
  run_outcome execute_marked(task_slot& slot, std::uint64_t started, result_sink& result,
                             run_marks& marks);
  void hand_in(finished_record& record, result_sink& result, const task_slot& slot) noexcept;
  const entry& find(std::uint64_t identity);
  bool finish_output(std::uint64_t run_ns) noexcept;

  static worker_loop* current_;

  std::uint32_t index_;
  shared_memory control_memory_;
  shared_memory requests_;  ///< Shared values too.
  shared_memory memory_;
  shared_control* control_;
  worker_record* record_;
  finished_ring* finished_;
  std::uint64_t finished_count_;
  queue_cursor urgent_;
  queue_cursor regular_;
  result_blocks blocks_;
  std::unordered_map<std::uint64_t, const entry*> entries_;
  const entry* last_found_ = nullptr;
  bool is_cold_ = true;
  std::uint32_t peak_memory_kib_ = 0;
  std::thread::id thread_ = std::this_thread::get_id();
  std::uint64_t waited_ = 0;  ///< Ticks, of the task that runs now.
  std::uint64_t last_end_ = 0;  ///< When the task before ended; 0 if there was a pause since.
  unsigned depth_ = 0;
  std::uint32_t current_slot_ = 0;
  bool is_traced_ = false;
};

}  // namespace cppless::detail
