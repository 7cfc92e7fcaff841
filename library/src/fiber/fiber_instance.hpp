// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <optional>
#include <queue>
#include <thread>
#include <vector>

#include <cppless/detail/fiber/waiting.hpp>
#include <cppless/detail/task/instance_core.hpp>
#include <cppless/fiber_dispatcher.hpp>

#include "fiber/dispatched.hpp"

namespace cppless::fiber::detail {

/// The live fiber dispatcher: each job is a task of the runtime.
///
/// Invariants: (1) a record is in the list until its task has ended, or was abandoned before it began;
/// (2) the list and what follows it are guarded by the core's `mutex_`; (3) jobs are settled, and
/// destroyed, without it.
class fiber_instance final : public cppless::detail::instance_core,
                             public std::enable_shared_from_this<fiber_instance> {
 public:
  explicit fiber_instance(const fiber_dispatcher::options& chosen);
  ~fiber_instance() override { close(); }

  bool cancel(task_id id) override;
  bool drives_itself() const noexcept override { return true; }
  unsigned concurrency() const noexcept override;
  bool takes_objects() const noexcept override {
    return options_.values == fiber_dispatcher::values::moved;
  }
  std::optional<cppless::detail::shared_place> place_shared(
      const std::shared_ptr<const cppless::detail::shared_bytes>& value) override {
    return cppless::detail::shared_place{0, cppless::detail::place_in_process(value)};
  }
  /// Plain threads too: each is woken by what it waits for, and by nothing else.
  cppless::detail::fiber_waits* parks_caller() const noexcept override;

  /// Runs a task, unless it was abandoned. The instance may be gone afterwards.
  void run(dispatched& next) noexcept;

  /// Of the task that runs here.
  std::stop_token stop_token_of(dispatched& running);

 private:
  struct limit {
    enum class kind { deadline, timeout };
    std::uint64_t at_ns;  ///< Monotonic clock.
    task_id id;
    kind of;
    std::uint64_t limit_ns;
    const cppless::detail::entry* what;
    bool operator>(const limit& other) const noexcept { return at_ns > other.at_ns; }
  };

  // instance_core
  void send(std::unique_ptr<cppless::detail::job> sent,
            std::unique_lock<std::mutex>& lock) override;
  void drive(cppless::detail::time_point) override {}
  void interrupt() noexcept override {}
  void shut_down() noexcept override;

  struct request;
  struct outcome;
  void call(const request& of, dispatched& running, outcome& to) noexcept;
  void settle_own(cppless::detail::job& ended, outcome& with) noexcept;
  void end(dispatched& ended, cppless::detail::job_list published) noexcept;

  void link(dispatched& added) noexcept;
  void unlink(dispatched& removed) noexcept;
  std::unique_ptr<cppless::detail::job> abandon(dispatched& which) noexcept;
  bool give_up(task_id id, const cppless::detail::failure& reason);

  void give_up_child(task_id id);
  static void give_up_children(const task_name& parent);

  // fiber_limits.cpp: time limits, kept by a thread that the first of them starts
  void keep_limit(const limit& added);
  void limit_run(const cppless::detail::entry& what, std::uint64_t timeout_ns, task_id id);
  void watch_limits() noexcept;
  void end_limits() noexcept;

  const fiber_dispatcher::options options_;
  dispatched* newest_ = nullptr;
  waiter* closing_ = nullptr;  // who closes it waits for the last task
  std::priority_queue<limit, std::vector<limit>, std::greater<>> limits_;
  std::condition_variable limits_changed_;
  bool ends_limits_ = false;
  std::thread limits_thread_;
  std::atomic<bool> has_run_{false};
};

}  // namespace cppless::fiber::detail
