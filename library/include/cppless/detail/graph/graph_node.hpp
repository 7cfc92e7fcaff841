// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <cppless/bytes.hpp>
#include <cppless/detail/task/job.hpp>

namespace cppless::detail {

/// Number of a node in its graph.
using node_index = std::uint32_t;
inline constexpr node_index no_node = ~node_index{0};

enum class node_kind : std::uint8_t {
  task,          ///< Calls something elsewhere; its inputs are the arguments.
  join,          ///< Ends with its inputs and is their bytes, one behind the other: a start, a stand-in.
  gather,        ///< A vector of its inputs.
  sized_gather,  ///< The same, each with its size in front.
  given,         ///< A value that the graph did not make.
};

enum class node_state : std::uint8_t {
  added,      ///< Not to be run yet.
  waiting,    ///< For its inputs.
  ready,      ///< Its inputs are there.
  running,
  done,
  failed,
  cancelled,  ///< Because of another that failed.
};

/// What one asks about a node's end through: a future of some type.
class node_listener {
 public:
  virtual ~node_listener() = default;
  /// Takes the value. What it throws is given to `fail`.
  virtual void succeed(source& result, const execution_statistics& statistics) = 0;
  virtual void fail(std::exception_ptr reason) noexcept = 0;
  /// After one of both, without a lock: wakes who waits.
  virtual void settled() noexcept = 0;
};

/// Why a node failed.
struct node_failure {
  error_kind kind = error_kind::cancelled;
  std::string message;
  std::string remote_type;
  task_id id = 0;
};

std::unique_ptr<node_failure> failure_of_current_exception();

/// The outcome of a node, on its way into the graph. Made before its task is sent, so that nothing
/// need be allocated where the outcome becomes known.
struct node_outcome {
  node_index node = no_node;
  bytes result;
  std::unique_ptr<node_failure> failure;
  execution_statistics statistics;
  std::unique_ptr<node_outcome> next;
};

/// One node. Its values stay encoded: a result's bytes are the argument's bytes of its successors.
struct graph_node {
  node_kind kind = node_kind::join;
  node_state state = node_state::added;
  bool expands = false;                 ///< Its result is a graph that takes its place.
  bool is_stand_in = false;             ///< It has returned that graph, and ends as it does.
  bool has_read = false;                ///< It needs its inputs no longer.
  const entry* what = nullptr;          ///< Where kind is task.
  bytes data;                           ///< The encoded callable of one that was not started.
  bytes result;                         ///< Kept as long as `readers` or `handles` are left.
  std::shared_ptr<const shared_things> shared;  ///< That `data` or `result` only names; mostly null.
  std::vector<node_index> inputs;       ///< In the arguments' order.
  std::vector<node_index> successors;
  std::uint32_t missing = 0;            ///< Inputs that have not ended.
  std::uint32_t readers = 0;            ///< Successors that have not started.
  std::uint32_t handles = 0;            ///< Of the user's.
  node_index cause = no_node;           ///< Where cancelled: the node that failed.
  task_id id = 0;                       ///< Where running, of its invocation.
  std::string name;                     ///< As given by the user.
  std::unique_ptr<node_failure> failure;
  std::vector<std::shared_ptr<node_listener>> listeners;

  bool has_ended() const noexcept { return state >= node_state::done; }
};

}  // namespace cppless::detail
