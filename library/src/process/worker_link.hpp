// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <cppless/detail/task/channel_state.hpp>
#include <cppless/detail/task/instance_core.hpp>

#include "process/detached_process.hpp"
#include "process/worker_loop.hpp"

namespace cppless::detail {

class nested_instance;

/// Carries the tasks that a task dispatches to the host, and their outcomes back. One per worker
/// process; shared by all instances made in it. Thread-safe.
class worker_link final : public standing_in {
 public:
  explicit worker_link(worker_loop& loop) : loop_(loop) {}

  static worker_link& get();

  void send(std::unique_ptr<job> sent, std::shared_ptr<nested_instance> owner);
  bool cancel(const nested_instance& owner, task_id id);

  /// Has the owner's jobs cancelled and returns them.
  job_list withdraw(const nested_instance& owner);

  /// Handles messages; sleeps until there is one, until `until` or `wake`, telling the host that
  /// this worker waits.
  void drive(nested_instance& driver, time_point until);
  void wake() noexcept;

  // standing_in
  void wait_begins() noexcept override;
  void wait_ends() noexcept override;

 private:
  struct pending {
    std::unique_ptr<job> what;
    std::shared_ptr<nested_instance> owner;
  };
  struct request_loan {
    std::uint64_t position;  ///< Of its message in the outbox.
    std::byte* block;
    std::size_t capacity;
  };

  bool pump(nested_instance& driver);
  bool spin(nested_instance& driver, int turns) noexcept;
  void sleep(nested_instance& driver, time_point until) noexcept;
  pending take(const inbox_message& message);
  void settle(job& settled, const inbox_message& message);
  void post(const outbox_message& message) noexcept;
  void reclaim_requests() noexcept;

  worker_loop& loop_;
  std::mutex inbox_mutex_;  ///< Held while a message is handled; taken before mutex_.
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, pending> pending_;
  std::uint64_t last_local_id_ = 0;
  // While one waits the host has another worker stand in, even if others of the task's threads
  // compute: it cannot know whether those do anything that the waiting one does not wait for.
  unsigned waiting_threads_ = 0;
  std::vector<request_loan> loans_;
};

/// The instance of a local dispatcher made inside a task: hands everything to the host.
class nested_instance final : public instance_core,
                              public std::enable_shared_from_this<nested_instance> {
 public:
  bool cancel(task_id id) override { return worker_link::get().cancel(*this, id); }
  std::uint32_t show_variable(const std::shared_ptr<variable_home>&) override {
    throw rejected("a shared variable made by a task cannot be passed on to tasks of its own: make it "
                   "in the program itself");
  }
  unsigned concurrency() const noexcept override {
    return std::max(worker_loop::current()->control().concurrency, 1u);
  }
  detached_key detach(const entry& what, const char* result_type,
                      std::span<const std::byte> request) override {
    return start_detached(what, result_type, request);
  }

  using instance_core::publish;
  using instance_core::settle;

  std::atomic<bool> is_interrupted{false};

 private:
  void send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& lock) override {
    lock.unlock();
    worker_link::get().send(std::move(sent), shared_from_this());
  }
  void drive(time_point until) override { worker_link::get().drive(*this, until); }
  void interrupt() noexcept override {
    is_interrupted.store(true, std::memory_order_release);
    worker_link::get().wake();
  }
  void shut_down() noexcept override;
};

}  // namespace cppless::detail
