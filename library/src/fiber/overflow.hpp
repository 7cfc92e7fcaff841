// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace cppless::fiber::detail {

/// From now on a fiber that runs into the guard page below its stack ends the program with a line
/// on standard error that names its task and the size of its stack. Other faults go where they
/// went.
void report_overflows();

/// Where the calling thread's fault handler runs while this lives: there is no room left on a stack
/// that has overflowed.
class signal_stack {
 public:
  signal_stack();
  ~signal_stack();
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace cppless::fiber::detail
