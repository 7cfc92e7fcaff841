// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/instance.hpp>

namespace cppless {

/// Runs tasks in worker processes on this machine, started from the program's own image and kept
/// warm. Requests and results travel through shared memory. (thesis 4.3.1 starts one process a task)
///
/// A worker sees the program's environment, its own globals as static initialisation left them, and
/// `/dev/null` as standard input; what it prints comes out of the host's standard error, each line
/// with the task's name. A worker that dies is replaced. Workers end with the instance, and with the
/// host however that ends.
/// Inside a task, an instance of it hands tasks to the host's workers: none are added but to stand
/// in for tasks that wait.
/// The program must be linked with cppless's own `main` (`cppless::cppless` in CMake does it);
/// otherwise `create_instance` throws `rejected`.
class local_dispatcher {
 public:
  struct options {
    /// Worker processes; 0: `CPPLESS_WORKERS`, or as many as the process may use cores.
    unsigned workers = 0;
  };

  local_dispatcher() = default;
  explicit(false) local_dispatcher(options chosen) : options_(chosen) {}

  /// Starts no process yet: workers start with the first task. Throws `rejected`.
  instance create_instance() const;

 private:
  options options_;
};

/// Runs tasks in the calling process, one after another, while somebody waits for them. Arguments,
/// captures and results go through the same bytes as with every other dispatcher, so that mistakes
/// show under a debugger. Time limits are noticed only after a task has ended; memory limits are
/// not enforced.
class inline_dispatcher {
 public:
  instance create_instance() const;
};

/// What `CPPLESS_DISPATCHER` says: `local` (also if not set), `fiber`, `inline`, or `lambda` for
/// `aws_dispatcher::from_env()` in programs that are linked for it (`aws_lambda_target` in CMake;
/// see aws_lambda.hpp). Any other value makes `create_instance` throw `rejected`.
class default_dispatcher {
 public:
  instance create_instance() const;
};

/// The instance behind `dispatch(task, arguments...)`: of the default dispatcher, made at its first
/// use and closed when the program ends.
instance& default_instance();

}  // namespace cppless
