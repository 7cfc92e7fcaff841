// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

#include <cppless/instance.hpp>

namespace cppless {

/// Runs tasks as fibers of this process (`fiber::runtime`, which starts by itself): `dispatch`,
/// `async`, `map` and graphs for tasks that are not worth sending away. Tasks start at once, on as
/// many threads as the runtime has, and may wait for each other: a task that waits holds no thread.
///
/// The same program means the same as with other dispatchers. Captures and arguments are values of
/// the task's own, its exceptions arrive as `task_failed`, its updates of shared variables count when it
/// has succeeded. Only what cannot be had in one process is different:
/// - A task that ends the process (crashes, calls `exit`) ends the program. Memory limits are not
///   kept.
/// - A task that runs cannot be stopped from outside. If it is cancelled, or its timeout or deadline
///   comes, that is what waiters are told at once; the task goes on, and what comes of it is dropped.
///   It can ask `stop_token()` whether it should end.
/// - The instance's destructor returns when tasks that have begun have ended. One that never ends
///   keeps it waiting, and the end of the program for the default instance; so a task must not
///   destroy the instance that runs it.
/// - What a task does to globals is seen by the program, and what it prints is not marked.
class fiber_dispatcher {
 public:
  /// How captures, arguments and results travel.
  enum class values {
    moved,       ///< As objects: copied when dispatched (moved, where given as rvalues), then moved.
    serialised,  ///< As bytes, as with all other dispatchers: to find out what would not survive it.
  };
  struct options {
    fiber_dispatcher::values values = fiber_dispatcher::values::moved;
  };

  fiber_dispatcher() = default;
  explicit(false) fiber_dispatcher(options chosen) : options_(chosen) {}

  /// Starts the runtime if there is none: see `fiber::runtime`. Throws `rejected`.
  instance create_instance() const;

  /// Of the task that calls it: a stop is requested when it is cancelled, its time is up, or its
  /// instance is closed. Of everything else no stop is ever requested.
  static std::stop_token stop_token();

 private:
  options options_;
};

}  // namespace cppless
