// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cppless/detail/graph/graph_executor.hpp>
#include <cppless/detail/task/future_state.hpp>

namespace cppless::detail {

/// Nodes and what each waits for, whatever their types and whoever runs them.
///
/// Thread safety: all members may be called from any thread, but those for executors only by them.
/// Invariants: (1) inputs were added before the node that reads them, so there are no circles;
/// (2) every node ends exactly once; (3) nothing recurses along edges, and users' code runs without
/// the lock.
class graph_core : public std::enable_shared_from_this<graph_core> {
 public:
  explicit graph_core(std::unique_ptr<graph_executor> by);
  graph_core(const graph_core&) = delete;
  graph_core& operator=(const graph_core&) = delete;
  ~graph_core();

  // ---- building ----

  /// Takes a node with its kind, inputs and data. Throws `cancelled` if the graph is closed. The
  /// caller has a handle of it.
  node_index add(graph_node added);

  /// A node that ends when `from` does, with what `encode` writes. The caller has a handle of it.
  node_index add_future(std::shared_ptr<future_state_base> from,
                        std::function<void(sink& to)> encode);

  /// See `graph_executor::encodes_for`.
  instance_core* encodes_for() const noexcept { return executor_->encodes_for(); }

  void set_name(node_index of, std::string name);
  void listen(node_index to, std::shared_ptr<node_listener> listener);

  /// Users' handles: as long as there is one, a node's result is kept.
  void hold(node_index node);
  void release(node_index node) noexcept;

  // ---- running ----

  /// From here on the nodes there are are run.
  void start();

  /// Runs until that node has ended, or all; at most until `until`. True if so.
  bool wait(node_index node, time_point until);

  /// Runs until all have ended. Throws the error of the first that failed since the last call.
  void await_all();

  bool cancel(node_index node);

  /// Cancels what has not ended; no further nodes are taken.
  void close() noexcept;

  // ---- looking ----

  std::size_t size() const;
  void write_graphviz(std::ostream& to) const;
  /// `node "name"`, or its number and its task's name. With the lock held, or by `description`.
  std::string describe(node_index node) const;

  // ---- for executors: with the lock held, from `graph_executor::start` ----

  /// The next node whose inputs are there, or `no_node`.
  node_index take_ready();
  const graph_node& at(node_index node) const { return nodes_[node]; }
  node_index count() const noexcept { return static_cast<node_index>(nodes_.size()); }
  /// Nodes from here on are not to be run yet.
  node_index eligible() const noexcept { return eligible_; }
  /// The node is under way: its inputs are no longer needed.
  void run(node_index node);
  /// The same for a node whose outcome is final also if it returns a graph.
  void run_whole(node_index node);
  void set_id(node_index node, task_id id) { nodes_[node].id = id; }

  // ---- for executors: from anywhere ----

  /// Outcomes of nodes, linked by `next`. What they lead to happens in `advance`.
  void report(std::unique_ptr<node_outcome> outcomes) noexcept;

  /// Brings in what was reported and starts what became ready. No lock of an instance may be held.
  void advance();

  // ---- for graph_plan ----

  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  /// `add` with the lock held, and without a handle.
  node_index append(graph_node added);
  /// The program's own entry, or one without code for a task of another executable.
  const entry* entry_of(std::uint64_t identity, const std::string& name, const task_limits& limits);

 private:
  /// A task that this program need not have the code of: only its name is sent.
  struct foreign_entry {
    foreign_entry(std::uint64_t identity, const std::string& task, const task_limits& limits);
    std::string name;
    entry what;
  };
  struct pending_future {
    node_index node;
    std::shared_ptr<future_state_base> state;
  };
  struct settlement {
    node_index node;
    execution_statistics statistics;
  };
  struct delivery {
    std::shared_ptr<node_listener> to;
    const bytes* result;
    std::exception_ptr error;
    execution_statistics statistics;
  };

  template <class Done>
  bool wait_until(time_point until, Done done);
  void make_eligible();
  std::unique_ptr<node_outcome> take_reports() noexcept;
  void bring_in(std::unique_ptr<node_outcome> outcomes);
  void make_ready(node_index node);
  void join_ready();
  bytes joined(const graph_node& of);
  std::shared_ptr<const shared_things> shared_by_inputs(const graph_node& of) const;
  void expand(node_index node, const bytes& result);
  void finish(node_index node, bytes result, const execution_statistics& statistics);
  void fail(node_index node, std::unique_ptr<node_failure> reason);
  void end(node_index node, node_state as, const execution_statistics& statistics);
  void read_inputs(graph_node& of);
  void drop_unread(graph_node& of) noexcept;
  void settle(std::unique_lock<std::mutex>& lock);
  std::exception_ptr error_of(node_index node) const;

  std::unique_ptr<graph_executor> executor_;

  mutable std::mutex mutex_;  ///< Guards what follows. Never taken with an instance's lock held.
  std::deque<graph_node> nodes_;
  std::deque<node_index> ready_;           ///< Tasks.
  std::vector<node_index> joins_;          ///< Ready nodes of other kinds.
  std::deque<foreign_entry> foreign_;
  std::vector<pending_future> futures_;
  std::vector<node_index> unreported_failures_;
  std::vector<settlement> to_settle_;
  std::vector<std::thread::id> settling_;  ///< Threads that run continuations.
  node_index eligible_ = 0;                ///< Nodes below are no longer merely added.
  std::size_t unfinished_ = 0;
  std::size_t running_ = 0;
  bool closed_ = false;
  std::atomic<std::thread::id> advancing_;  ///< Who holds the lock for `advance`.

  std::mutex reports_mutex_;  ///< Guards what follows; may be taken with an instance's lock held.
  std::unique_ptr<node_outcome> reports_;
  node_outcome* last_report_ = nullptr;
  std::vector<std::atomic<bool>*> waiters_;
};

/// Notes, while it lives, what the node refers to that is being encoded.
class node_scope {
 public:
  explicit node_scope(const graph_core& graph) {
    if (instance_core* const on = graph.encodes_for()) scope_.emplace(*on, things_);
  }
  std::shared_ptr<const shared_things> things() noexcept { return std::move(things_); }

 private:
  std::unique_ptr<shared_things> things_;
  std::optional<sharing_scope> scope_;
};

}  // namespace cppless::detail
