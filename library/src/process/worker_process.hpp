// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/file_descriptor.hpp"
#include "base/shared_memory.hpp"

namespace cppless::detail {

/// What a worker is started with, besides its own memory.
struct worker_environment {
  int control;
  int requests;  ///< Read-only.
  int bell;
  sigset_t signal_mask;
};

/// One worker process: its descriptors, memory and what it prints. The host's supervisor thread
/// alone uses it, but for `memory()`.
class worker_process {
 public:
  worker_process() = default;

  /// Starts the program's own image as worker `index`. Throws `rejected`.
  static worker_process start(std::uint32_t index, const worker_environment& environment);

  bool is_running() const noexcept { return pid_ > 0; }
  pid_t pid() const noexcept { return pid_; }
  int pid_descriptor() const noexcept { return pid_descriptor_.get(); }
  int output_descriptor() const noexcept { return output_.get(); }
  /// The worker's own memory; may be kept beyond the process.
  const std::shared_ptr<const shared_memory>& memory() const noexcept { return memory_; }

  void kill() const noexcept;

  /// Reaps the process, which must have ended, and says how: "was killed by signal 11 (...)".
  std::string reap() noexcept;

  /// Shows what the worker has printed on standard error, each line with `task_name` before it.
  /// A line still without its end is kept back unless `ends`. True if there is one.
  bool show_output(const std::string& task_name, bool ends);

 private:
  void show_lines(const std::string& task_name, bool ends);

  pid_t pid_ = -1;
  file_descriptor pid_descriptor_;
  file_descriptor output_;
  std::shared_ptr<const shared_memory> memory_;
  std::string unfinished_line_;
};

}  // namespace cppless::detail
