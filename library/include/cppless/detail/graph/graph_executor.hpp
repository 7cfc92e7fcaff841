// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include <cppless/detail/graph/graph_node.hpp>
#include <cppless/detail/task/instance_core.hpp>

namespace cppless::detail {

class graph_core;

/// Runs the nodes of one graph. The graph says which are ready, an executor how they are run.
class graph_executor {
 public:
  virtual ~graph_executor() = default;

  /// Starts what can be: called with the graph's lock held whenever nodes may have become ready.
  /// Takes them from `graph.take_ready()`, or whichever it wants, and marks them by `graph.run()`.
  /// Each is to end by `graph.report()`. Must not throw.
  virtual void start(graph_core& graph) = 0;

  /// Works or sleeps until `flag`, which `graph.report` sets, at most until `until`.
  virtual void wait_for(const std::atomic<bool>& flag, time_point until) = 0;

  /// Ends a running node; it then reports that it was cancelled. False if it cannot. No lock is held.
  virtual bool cancel(task_id id) = 0;

  /// Ends all that it has begun. No lock is held.
  virtual void close() noexcept = 0;

  /// The instance with which nodes are encoded, so that they can name what lies with it; null where
  /// they must hold all themselves.
  virtual instance_core* encodes_for() const noexcept { return nullptr; }
};

}  // namespace cppless::detail
