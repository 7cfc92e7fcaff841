// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cppless::detail {

/// Applies a task's limits to this process while it lives; 0 is none.
///
/// Time: a timer of the kernel kills the process, which nothing in the task can prevent; the host
/// sees at once that it ended and after how long. Memory: the heap may grow by that much, beyond
/// which allocations fail.
class task_limits_guard {
 public:
  task_limits_guard(std::uint64_t timeout_ns, std::uint64_t memory_bytes);
  task_limits_guard(const task_limits_guard&) = delete;
  task_limits_guard& operator=(const task_limits_guard&) = delete;
  ~task_limits_guard() { lift(); }

  /// Ends the limits early.
  void lift() noexcept;

 private:
  bool has_timer_ = false;
  bool has_memory_limit_ = false;
  std::uint64_t previous_memory_limit_ = 0;
  void* timer_ = nullptr;
};

/// Largest resident size this process has had, in bytes.
std::uint64_t peak_resident_bytes() noexcept;

}  // namespace cppless::detail
