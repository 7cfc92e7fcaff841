// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cppless/bytes.hpp>
#include <cppless/detail/graph/graph_core.hpp>
#include <cppless/instance.hpp>

namespace cppless::detail {

/// A graph as values, to be sent: what runs it needs no code of its tasks.
struct graph_plan {
  struct task {
    std::uint64_t identity = 0;
    std::string name;
    task_limits limits;
  };
  struct node {
    node_kind kind = node_kind::join;
    bool expands = false;
    bool is_wanted = false;              ///< Its result is to be sent back.
    std::uint32_t task = 0;              ///< Of `tasks`, where kind is task.
    bytes data;                          ///< The encoded callable, or the value of a given node.
    std::vector<std::uint32_t> inputs;   ///< Nodes before this one.
    std::string name;
  };
  std::vector<task> tasks;
  std::vector<node> nodes;
  std::uint32_t result = 0;  ///< The node whose value is the graph's.
};

/// How a plan's nodes ended. Those that are not named are done, or cancelled because of one that
/// failed.
struct plan_outcome {
  struct value {
    std::uint32_t node = 0;
    bytes result;
  };
  struct failure {
    std::uint32_t node = 0;
    error_kind kind = error_kind::cancelled;
    std::string message;
    std::string remote_type;
    task_id id = 0;
  };
  std::vector<value> values;
  std::vector<failure> failures;
};

/// Those of the graph's nodes below `end` that have not ended, in their order, with the values that
/// they need of others. `places[i]` is the graph's number of the plan's node i, `no_node` for a
/// value; `shared` takes what they refer to. With the graph's lock held.
graph_plan plan_of(const graph_core& graph, node_index end, std::vector<node_index>& places,
                   std::unique_ptr<shared_things>& shared);

/// The whole of a graph that was not run, of which that node is the result.
graph_plan plan_of_result(const graph_core& graph, node_index result);

/// Adds a plan's nodes to the graph, with its lock held; returns the number of the plan's result.
/// Throws `rejected` for a malformed plan, and has then added nothing.
node_index append_plan(graph_core& graph, graph_plan plan);

/// Runs a plan by the host-controlled executor on that instance. For the worker that runs a graph.
plan_outcome run_plan(graph_plan plan, instance on);

}  // namespace cppless::detail
