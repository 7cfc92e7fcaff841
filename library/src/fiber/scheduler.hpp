// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "fiber/helpers.hpp"
#include "fiber/processor.hpp"
#include "fiber/ready_queue.hpp"
#include "fiber/stacks.hpp"
#include "fiber/timers.hpp"

namespace cppless::fiber::detail {

struct scheduler_options {
  unsigned workers;
  std::size_t stack_size;
  bool deterministic;
  std::uint64_t seed;
};

/// The workers of a runtime and what they share. At most one at a time.
///
/// A worker runs a loop on a stack of its own. Tasks are called right from the loop. Where one has
/// to wait, the stack is set aside with the loop's frames on it, and the worker begins another loop
/// on another stack. A fiber that is woken is gone on with by whoever finds it, whose own loop's
/// stack is then free; when its task returns, it is the loop's frames below it that go on.
///
/// Thread safety: everything, unless it takes the caller's processor.
class scheduler {
 public:
  /// Each so many turns a worker first takes what has waited longest, so that nothing waits for
  /// ever.
  static constexpr std::uint32_t fair_turn = 64;

  explicit scheduler(const scheduler_options& options);
  ~scheduler() = delete;  // see `end`

  /// Waits until nothing is left to run (and, with `all`, until no fiber is parked), then ends the
  /// workers. Not from a worker.
  enum class wait_for_parked { yes, no };
  void close(wait_for_parked all);
  /// Gives back what a closed one holds, but for itself: another thread whose call has woken the
  /// last fiber may still be looking for a worker to ring for.
  void end() noexcept;

  /// The one that runs, or null.
  static scheduler* running() noexcept;
  /// The same, started with the defaults if there is none.
  static scheduler& running_or_started();

  /// Has a worker run it, never the caller itself.
  void inject(task& made);
  /// Makes a parked fiber go on. From any thread.
  void resume(fiber_record& woken) noexcept;
  void wake_one() noexcept;

  void run_on_helper(task& made) { helpers_->run(made); }
  timers& clock() noexcept { return *timers_; }
  const scheduler_options& options() const noexcept { return options_; }
  const stack_pool& stacks() const noexcept { return *stacks_; }

  // By workers, on fibers:
  void park(processor& self, waiter& on) noexcept;
  void yield(processor& self) noexcept;
  /// A turn for others if the seed says so.
  void maybe_yield(processor& self) noexcept;
  /// What a stack begins with.
  [[noreturn]] void loop() noexcept;

  /// Finishes a switch, on the stack that was switched to.
  static void arrive(fiber_record& here) noexcept;
  /// The stack that has just been switched to for the first time.
  static fiber_record& starting() noexcept;

 private:
  /// What to do next: one of both, or neither when the workers are to end.
  struct work {
    fiber_record* woken = nullptr;
    task* made = nullptr;
    explicit operator bool() const noexcept { return woken != nullptr || made != nullptr; }
  };
  struct suspect;

  void run_worker(processor& self) noexcept;
  work find_work(processor& self) noexcept;
  work next_of_own(processor& self) noexcept;
  work search(processor& self) noexcept;
  work steal(processor& self, suspect& of) noexcept;
  work injected() noexcept;
  work chosen_by_seed(processor& self) noexcept;
  bool is_any_work() const noexcept;
  void stop_searching() noexcept;
  void sleep(processor& self) noexcept;
  void sleep_by_seed(processor& self) noexcept;
  bool is_drained(wait_for_parked all) noexcept;

  void switch_to(processor& self, fiber_record& to, departure how) noexcept;
  fiber_record& fresh_stack(processor& self) noexcept;
  void release_stack(processor& self, fiber_record& unused) noexcept;
  std::uint64_t choose(std::uint64_t below) noexcept;

  const scheduler_options options_;
  std::optional<stack_pool> stacks_;
  std::optional<timers> timers_;
  std::optional<helpers> helpers_;
  std::uint64_t random_;  // deterministic: the generator's state

  spin_lock injection_lock_;
  std::deque<task*> injected_tasks_;
  std::atomic<std::size_t> injected_count_{0};
  ready_queue injected_fibers_;

  spin_lock idle_lock_;
  processor* idle_ = nullptr;
  std::atomic<bool> stopping_{false}, closing_{false};
  std::atomic<std::uint32_t> went_to_sleep_{0};  // rung for `close`

  std::vector<std::thread> threads_;
};

}  // namespace cppless::fiber::detail
