// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <cppless/detail/task/instance_core.hpp>

#include "process/arena.hpp"
#include "process/detached_process.hpp"
#include "process/shared_layout.hpp"
#include "process/worker_process.hpp"

namespace cppless::detail {

/// The live local dispatcher: worker processes fed through shared memory.
///
/// A task waits in `queue_` (or, dispatched by another task, in `nested_`) until a slot is free;
/// from then on workers take it by themselves. Whoever waits for results drains finished slots; a
/// supervisor thread does so when nobody waits, and starts, watches and replaces the workers.
/// Invariants: (1) a slot with a job is ready or taken, and the job is in exactly one place;
/// (2) everything from `request_arena_` to `hopeless_` is guarded by the core's `mutex_`; (3) no job
/// is destroyed or settled while it is held, since both run users' code or return memory to the arena.
class pool final : public instance_core, public std::enable_shared_from_this<pool> {
 public:
  explicit pool(unsigned workers);
  ~pool() override;

  bool cancel(task_id id) override;
  bool drives_itself() const noexcept override { return true; }
  payload_memory& memory() noexcept override { return request_blocks_; }
  std::optional<shared_place> place_shared(
      const std::shared_ptr<const shared_bytes>& value) override;
  std::uint32_t show_variable(const std::shared_ptr<variable_home>& variable) override;
  unsigned concurrency() const noexcept override { return target_; }
  detached_key detach(const entry& what, const char* result_type,
                      std::span<const std::byte> request) override {
    return start_detached(what, result_type, request);
  }

 private:
  friend class nested_job;

  /// Requests too large for a slot, written by the dispatching thread where workers read them.
  class request_memory final : public payload_memory {
   public:
    explicit request_memory(pool& owner) : owner_(owner) {}
    std::byte* allocate(std::size_t& capacity) override;
    void release(std::byte* block, std::size_t capacity) noexcept override;

   private:
    pool& owner_;
  };

  struct flight {
    std::unique_ptr<job> what;
    std::uint32_t generation = 0;
    bool is_urgent = false;
    std::byte* block = nullptr;  ///< Copy of a small request that does not fit into the slot.
    std::size_t block_capacity = 0;
    std::unique_ptr<const failure> verdict;  ///< Why its worker was killed by us.
  };

  /// A shared value that workers can read; freed some time after its last user has gone.
  struct shared_block {
    std::weak_ptr<const shared_bytes> owner;
    std::uint64_t offset;
    std::size_t capacity;
  };

  struct inbox_block {
    std::uint64_t position;
    std::uint64_t offset;
    std::size_t capacity;
  };

  struct worker {
    worker_process process;
    std::uint32_t generation = 0;  ///< Of the process under this index.
    bool is_waiting = false;       ///< Its task waits for tasks of its own.
    bool is_parked = false;
    unsigned failed_starts = 0;
    std::string fault;             ///< What it wrote that no worker writes; it is killed for that.
    std::uint64_t outbox_read = 0; ///< Guarded by messages_mutex_.
    std::uint64_t inbox_written = 0;
    std::vector<inbox_block> inbox_blocks;  ///< Lent to messages the worker has not read yet.
    std::deque<inbox_message> unsent;       ///< Messages for which the inbox has no room.
  };

  /// A finished task with its worker's report, copied: the worker can change that at any time.
  struct arrival {
    arrival() noexcept {}  // `result` is filled as far as it is used

    std::unique_ptr<job> what;
    std::uint32_t slot;
    run_outcome outcome;
    bool is_cold;
    std::uint64_t started;
    std::uint64_t ended;
    std::uint32_t peak_memory_kib;
    std::uint32_t waited_us;
    std::uint64_t result_size;
    std::uint64_t result_offset;
    std::shared_ptr<const shared_memory> memory;  ///< Where a large result lies.
    std::byte result[inline_result_bytes];
  };

  struct deadline {
    std::uint64_t at_ns;
    task_id id;
    std::uint64_t limit_ns;
    bool operator>(const deadline& other) const noexcept { return at_ns > other.at_ns; }
  };

  // instance_core
  void send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& lock) override;
  void drive(time_point until) override;
  void interrupt() noexcept override;
  void shut_down() noexcept override;

  // pool.cpp: tasks into slots and out again
  void refill();
  bool place(std::unique_ptr<job>& placed);
  void enqueue(std::uint32_t slot) noexcept;
  void add_stale_entry() noexcept;
  void write_request(task_slot& slot, flight& entry, const job& placed);
  void write_traced_request(task_slot& slot, flight& entry, job& placed);
  void free_slot(std::uint32_t slot);
  bool has_finished() const noexcept;
  bool has_news() const noexcept;
  void let_results_gather() const noexcept;
  bool drain(bool by_driver);
  void take_finished(std::vector<arrival>& to);
  void take(std::uint32_t worker_index, const finished_record& record, std::vector<arrival>& to);
  void trace_run(std::uint32_t worker_index, const finished_record& record, const arrival& of);
  static void settle_arrival(arrival& finished);
  bool is_reported(std::uint32_t slot) const noexcept;
  void wake_workers(unsigned count) noexcept;
  void arm_bell() noexcept;
  void silence_bell() noexcept;

  // pool_shared.cpp
  void free_unused_shared();
  void take_in_variables();

  // pool_cancel.cpp
  template <class Predicate>
  bool stop(Predicate matches, const failure& verdict);
  bool stop(task_id id, const failure& verdict);
  std::unique_ptr<job> take_unstarted(std::uint32_t slot);
  bool end_worker_of(std::uint32_t slot, const failure& verdict);
  void stop_children(std::uint64_t parent);
  bool stop_nested(std::uint64_t parent, std::uint64_t local_id);
  void fail_all(job_list failed, const failure& reason);
  std::uint64_t expire_deadlines();

  // pool_supervisor.cpp: the supervisor thread
  void supervise();
  void kick() noexcept;
  void start_workers();
  bool start_worker(std::uint32_t index);
  void watch(int descriptor, std::uint64_t what);
  void read_output(std::uint32_t index, bool ends);
  void bury(std::uint32_t index);
  bool any_worker_has_started() const noexcept;
  bool is_lost(const slot_state& state, const flight& entry, std::uint32_t dead) const noexcept;
  void settle_losses(std::uint32_t index, pid_t dead, const std::string& how);
  void give_up(const failure& reason);
  int look_after_results(bool rung);
  void end_workers() noexcept;

  // pool_nested.cpp: tasks dispatched by tasks
  bool handle_messages();
  static void end_faulty(worker& writer, const std::string& what);
  void handle_outbox(std::uint32_t index);
  void handle(std::uint32_t index, const outbox_message& message);
  void submit_nested(std::uint32_t index, const outbox_message& message);
  void trace_nested(task_trace& of, std::uint32_t index, const outbox_message& message);
  void reply(std::uint64_t key, inbox_message message, std::span<const std::byte> bytes);
  void deliver_unsent(worker& to, worker_record& record);
  unsigned active_workers() const noexcept;
  void balance();
  bool run_in_place(std::uint32_t index);
  void set_command(std::uint32_t index, worker_command command) noexcept;
  // Some stand in for waiting ones. Beyond, a waiting task runs what it waits for itself: deep
  // recursion then costs stack in one process instead of a process a level.
  unsigned most_processes() const noexcept { return std::min(target_ + 256, max_workers); }
  std::uint64_t key_of(std::uint32_t index) const noexcept {
    return (std::uint64_t{workers_[index].generation} << 32) | (index + 1);
  }

  const unsigned target_;
  shared_memory control_memory_;
  shared_memory requests_;
  shared_control* control_;
  file_descriptor requests_read_only_;
  file_descriptor bell_;
  file_descriptor epoll_;
  sigset_t signal_mask_;
  request_memory request_blocks_;

  arena request_arena_;
  std::map<content_key, shared_block> shared_;
  std::vector<std::weak_ptr<variable_home>> variables_;  ///< By cell.
  std::map<std::uint64_t, std::uint32_t> cells_;         ///< Of variables, by their ids.
  std::vector<std::uint32_t> free_slots_;
  std::vector<flight> flights_;
  std::uint64_t urgent_end_ = 0;   ///< Entries ever written to the queue.
  std::uint64_t regular_end_ = 0;
  unsigned stale_entries_ = 0;     ///< See add_stale_entry.
  std::vector<arrival> spare_arrivals_;  ///< Empty; its memory is used again and again.
  job_list queue_;
  std::vector<std::unique_ptr<job>> nested_;
  std::vector<worker> workers_;
  unsigned running_ = 0;  ///< Processes started and not buried.
  std::atomic<std::uint32_t> workers_used_{0};  ///< Indices from here on never had a process.
  std::vector<std::atomic<std::uint64_t>> records_read_;  ///< Of each worker; may be read any time.
  std::priority_queue<deadline, std::vector<deadline>, std::greater<>> deadlines_;
  bool is_closing_ = false;
  std::optional<failure> hopeless_;  ///< Workers cannot be started: what every task is told.

  std::mutex messages_mutex_;  ///< Held by whoever handles outboxes; taken before mutex_.
  std::atomic<std::uint32_t> messages_seen_{0};
  std::atomic<bool> is_driven_{false};
  std::atomic<bool> is_interrupted_{false};
  std::atomic<bool> supervisor_is_armed_{true};
  std::atomic<std::uint64_t> drives_{0};  ///< How often a thread has finished driving.
  std::uint64_t drives_seen_ = 0;         ///< The supervisor's.
  std::thread supervisor_;
};

}  // namespace cppless::detail
