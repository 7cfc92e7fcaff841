// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <cppless/detail/fiber/function_task.hpp>

namespace cppless::fiber {

namespace detail {
class scheduler;
}

/// The workers that fibers run on: one thread per core, which take work from each other.
///
/// Nobody needs to make one: the first task starts one with the defaults. One that is made takes
/// its place, once all its tasks have ended. There is at most one at a time: a second throws
/// `rejected`.
///
/// Its destructor returns when every task that was made has run to its end, fibers that wait
/// included: like joining threads, it waits for ever for a fiber that nobody wakes. The implicit
/// runtime ends with the program: then tasks that run or are queued are run to their ends (or to
/// where they wait), while fibers that still wait are left as they are, without unwinding. Not to
/// be destroyed by a task of its own.
///
/// Workers are not preempted: a task that spins until another one does something must call
/// `this_fiber::yield`. A task that blocks its thread (reads a file, locks a std::mutex for long)
/// takes a core away: see `blocking`.
class runtime {
 public:
  struct options {
    /// Threads; 0: as many as the process may use cores, or `CPPLESS_WORKERS` if that is less.
    unsigned workers = 0;
    /// Bytes of address space per fiber, at least 16 KiB; memory is used only page by page as it is
    /// touched. Only a fiber that waits has a stack to itself. One that overflows ends the program
    /// with a message. Tasks that make tasks to any depth are no danger: a waiting one with less
    /// than half of its stack left does not call what it waits for but hands it to a fresh stack.
    std::size_t stack_size = 256 * 1024;
    /// For tests: one worker, and all choices (what runs next, who is interrupted where) come from
    /// a generator with this seed, so that a run can be repeated exactly. Deadlines pass in virtual
    /// time, once nothing else is left to do, those of one moment together. Start everything from
    /// within `run`.
    std::optional<std::uint64_t> seed = {};
  };

  runtime() : runtime(options{}) {}
  explicit runtime(unsigned workers) : runtime(options{workers}) {}
  /// Throws `rejected`.
  explicit runtime(const options& chosen);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Calls `function()` on a worker and returns its result, or throws its exception. The calling
  /// thread sleeps meanwhile; a plain `async(function).get()` may call it on the calling thread.
  template <class F>
  std::invoke_result_t<F&> run(F&& function) {
    auto& made = detail::make_task(detail::current_or_attached(),
                                   [&function]() -> decltype(auto) { return function(); });
    detail::inject(made);
    return detail::finish_and_take(made);
  }

  /// Of the running one; 0 if none runs.
  static unsigned workers() noexcept;

 private:
  detail::scheduler* const scheduler_;
};

}  // namespace cppless::fiber
