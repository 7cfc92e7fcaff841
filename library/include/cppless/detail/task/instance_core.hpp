// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include <cppless/detail/task/job.hpp>
#include <cppless/detail/task/variable_state.hpp>

namespace cppless::detail {

using time_point = std::chrono::steady_clock::time_point;

class fiber_waits;
class parked;
class parking_place;

/// Those of a task's configuration, with Lambda's for what it leaves open if CPPLESS_STRICT says so.
task_limits limits_in_force(task_limits limits);

/// Names a detached task.
using detached_key = std::array<std::uint8_t, 16>;

/// The live side of every dispatcher: ids, outcomes, waiting. Transports derive from it.
///
/// Thread safety: all members may be called from any thread.
/// Waiting threads do the transport's work themselves: one of them drives, the others follow. Waiting
/// fibers do not: they park until what they wait for is there.
/// Invariants: (1) every submitted job is published exactly once; (2) after `close` nothing is
/// outstanding and every wait returns.
class instance_core {
 public:
  instance_core();
  instance_core(const instance_core&) = delete;
  instance_core& operator=(const instance_core&) = delete;
  virtual ~instance_core();

  /// Takes the job over and gives it its id. Throws `rejected` or `cancelled` (closed).
  task_id submit(std::unique_ptr<job> submitted);

  /// Next finished job that was dispatched with a result variable. Blocks. Throws its error, or
  /// `rejected` if none is outstanding.
  completion wait_one();

  /// Waits until `flag` is set by a job's `publish`, at most until `until`. True if it is set.
  bool wait_for(const std::atomic<bool>& flag, time_point until);

  /// How the caller waits here, if not by driving: fibers, and everybody where nobody drives.
  virtual fiber_waits* parks_caller() const noexcept;

  /// Waits at `place` for what a job's `publish` or `notify` brings; false if `until` came first.
  bool park(fiber_waits& by, parking_place& place, time_point until);

  /// Whether outcomes come in while nobody drives.
  virtual bool drives_itself() const noexcept { return false; }

  /// Ends one job: not started if still waiting, its worker ended if running. False if it has
  /// already finished.
  virtual bool cancel(task_id id) = 0;

  /// Cancels what is outstanding; afterwards `submit` throws.
  void close() noexcept;

  virtual payload_memory& memory() noexcept;

  /// Puts a shared value where those who run tasks find it, once however many tasks name it.
  /// Nothing, if it is to be written into each of them.
  virtual std::optional<shared_place> place_shared(
      const std::shared_ptr<const shared_bytes>& value);

  /// Has those who run tasks see a variable in a cell, whose number it returns; 0 if there is none.
  virtual std::uint32_t show_variable(const std::shared_ptr<variable_home>& variable);

  /// Whether those who run tasks take captures, arguments and results as they are.
  virtual bool takes_objects() const noexcept { return false; }

  /// Whether tasks run as processes of this machine and user.
  virtual bool is_on_this_machine() const noexcept { return true; }

  /// How many tasks it runs at once if there are enough; at least 1.
  virtual unsigned concurrency() const noexcept { return 1; }

  /// Starts a task that outlives this process. Throws `rejected` where there is nothing that could
  /// run it, or keep its result.
  virtual detached_key detach(const entry& what, const char* result_type,
                              std::span<const std::byte> request);

 protected:
  /// Starts or queues the job. The transport owns it from here on. `lock` holds `mutex_`; it may be
  /// given up and must be where the job is settled or users' code run.
  virtual void send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& lock) = 0;

  /// Works or sleeps until at least one job was published by anybody, or until `until`.
  virtual void drive(time_point until) = 0;

  /// Wakes a thread in `drive`.
  virtual void interrupt() noexcept = 0;

  /// Ends all work. Every job still owned must have been published when it returns.
  virtual void shut_down() noexcept = 0;

  /// Puts a result (or failure) into its place. No lock must be held: runs the user's decoders.
  static void settle(job& settled, source& result) noexcept;
  static void settle(job& settled, const failure& reason) noexcept;

  /// Makes settled jobs visible to waiters. `by_driver`: the caller is inside `drive`.
  void publish(job_list finished, bool by_driver);

  /// The same with `mutex_` held. What it returns is to go to `notify` once it no longer is.
  job_list publish_held(job_list finished, bool by_driver);
  static void notify(job_list published) noexcept;

  std::uint64_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }

  /// What the trace calls this instance; 0 where nothing is traced.
  unsigned trace_number() const noexcept { return trace_number_; }

  /// Guards the core's state and whatever the transport adds: a task then costs one lock, not two.
  mutable std::mutex mutex_;

 private:
  template <class Ready>
  bool wait_until(std::unique_lock<std::mutex>& lock, time_point until, Ready ready);
  bool is_there(const parked& who) const noexcept;
  void wait_parked(fiber_waits& by, const std::atomic<bool>* flag, time_point until);
  void wake_parked(std::uint64_t finished) noexcept;
  void have_driven(fiber_waits& by);
  void drive_for_fibers();

  class parked_here;

  std::condition_variable followers_wake_;
  unsigned followers_ = 0;
  bool driving_ = false;
  std::thread::id driver_;  ///< Where driving_.
  bool closed_ = false;
  std::uint64_t last_id_ = 0;
  std::uint64_t counted_ = 0;  ///< Of the jobs submitted, those that the run's totals know.
  std::uint64_t awaited_ = 0;  ///< Dispatched, and no call of wait_one returns or waits for it yet.
  std::atomic<std::uint64_t> outstanding_{0};
  job_list ready_;
  parked* parked_ = nullptr;           ///< Who waits for no future of its own.
  std::uint64_t driven_fibers_ = 0;    ///< That wait where somebody must drive for them,
  bool has_fiber_driver_ = false;      ///< and whether a thread does.
  unsigned trace_number_ = 0;
};

}  // namespace cppless::detail
