// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace cppless::detail {

/// What all instances of this process did together. With `CPPLESS_SUMMARY=FILE` in the environment
/// it is written there as one JSON object when the process exits normally.
class run_totals {
 public:
  static run_totals& get() noexcept;

  /// Dispatched, not yet counted otherwise.
  void add_tasks(std::uint64_t count) noexcept {
    if (count != 0) add(tasks_, count);
  }

  /// Of tasks that finished together.
  struct batch {
    std::uint64_t tasks = 0;  ///< Dispatched meanwhile.
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t retries = 0;
    std::uint64_t task_ns = 0;
  };
  void add(const batch& added) noexcept {
    add_tasks(added.tasks);
    add(finished_, added.finished);
    add(task_ns_, added.task_ns);
    if (added.failed != 0) add(failed_, added.failed);
    if (added.retries != 0) add(retries_, added.retries);
  }
  void set_workers(unsigned count) noexcept { workers_.store(count, std::memory_order_relaxed); }

  std::uint64_t tasks() const noexcept { return tasks_.load(std::memory_order_relaxed); }
  std::uint64_t finished() const noexcept { return finished_.load(std::memory_order_relaxed); }

 private:
  using counter = std::atomic<std::uint64_t>;

  run_totals() noexcept;
  static void add(counter& to, std::uint64_t count) noexcept {
    to.fetch_add(count, std::memory_order_relaxed);
  }
  static void write_summary() noexcept;

  std::uint64_t started_ns_;
  counter tasks_{0};
  counter finished_{0};
  counter failed_{0};
  counter retries_{0};
  counter task_ns_{0};
  std::atomic<unsigned> workers_{0};
};

}  // namespace cppless::detail
