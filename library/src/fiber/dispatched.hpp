// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

#include <cppless/detail/fiber/task.hpp>
#include <cppless/detail/task/job.hpp>
#include <cppless/detail/task/variable_state.hpp>

namespace cppless::fiber::detail {

class fiber_instance;

/// A task among all that run on fibers.
struct task_name {
  const fiber_instance* on = nullptr;
  task_id id = 0;
  bool operator==(const task_name&) const = default;
};

/// A dispatched task as the scheduler sees it.
///
/// Invariants: (1) `what` is null once its outcome is somebody's business: of the runner, who has
/// set `finished`, or of whoever has set `abandoned` with the instance's lock held. (2) What runs
/// needs nothing of the job: it has taken the request out before it says `running`.
struct dispatched : task {
  enum class phase : std::uint32_t {
    queued,
    starting,   // the runner reads the job: for a moment
    running,
    finished,   // the runner settles the job
    abandoned,  // its outcome was told already: it was cancelled, or its time was up
  };

  dispatched(fiber_instance& of, std::unique_ptr<cppless::detail::job> made) noexcept;

  /// The innermost one that the calling fiber runs, or null.
  static dispatched* current() noexcept;

  fiber_instance& owner;  // not to be used once abandoned before it ran
  std::atomic<phase> at{phase::queued};
  std::unique_ptr<cppless::detail::job> what;
  const task_id id;
  task_name parent;  // the task that dispatched it, if one did
  cppless::detail::update_scope* updates = nullptr;  // while it runs
  std::stop_source stop{std::nostopstate};           // made when first asked for
  // In the instance's list.
  dispatched* newer = nullptr;
  dispatched* older = nullptr;
};

}  // namespace cppless::fiber::detail
