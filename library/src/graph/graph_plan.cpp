// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/graph/graph_plan.hpp>

#include <string>
#include <unordered_map>
#include <utility>

#include <cppless/graph.hpp>

namespace cppless::detail {
namespace {

/// Collects nodes, values and tasks of a graph into a plan.
class planner {
 public:
  planner(const graph_core& graph, std::vector<node_index>& places)
      : graph_(graph), places_(places) {}

  void add(node_index index) {
    const graph_node& from = graph_.at(index);
    if (from.kind == node_kind::given && from.missing != 0) {
      throw rejected("a graph that a node returns cannot wait for a future of that node's process");
    }
    graph_plan::node to;
    to.kind = from.kind;
    to.expands = from.expands;
    to.is_wanted = from.handles != 0 || !from.listeners.empty();
    to.data = from.data;
    to.name = from.name;
    to.inputs.reserve(from.inputs.size());
    for (const node_index each : from.inputs) to.inputs.push_back(place_of(each));
    keep_too(shared, from.shared);
    if (from.what != nullptr) to.task = task_of(*from.what);
    push(index, std::move(to));
  }

  std::uint32_t place_of(node_index index) {
    const auto known = place_of_.find(index);
    if (known != place_of_.end()) return known->second;
    graph_plan::node value;  // a node that has ended
    value.kind = node_kind::given;
    value.data = graph_.at(index).result;
    keep_too(shared, graph_.at(index).shared);
    return push(no_node, std::move(value), index);
  }

  graph_plan plan;
  std::unique_ptr<shared_things> shared;

 private:
  std::uint32_t push(node_index place, graph_plan::node added, node_index key = no_node) {
    const auto self = static_cast<std::uint32_t>(plan.nodes.size());
    place_of_.emplace(key == no_node ? place : key, self);
    places_.push_back(place);
    plan.nodes.push_back(std::move(added));
    return self;
  }

  std::uint32_t task_of(const entry& what) {
    const auto [known, is_new] =
        task_of_.try_emplace(&what, static_cast<std::uint32_t>(plan.tasks.size()));
    if (is_new) plan.tasks.push_back({what.identity(), what.name(), what.limits});
    return known->second;
  }

  const graph_core& graph_;
  std::vector<node_index>& places_;
  std::unordered_map<node_index, std::uint32_t> place_of_;
  std::unordered_map<const entry*, std::uint32_t> task_of_;
};

[[noreturn]] void malformed(const char* what, std::uint64_t value, std::uint64_t limit) {
  throw rejected(std::string("malformed graph: ") + what + " " + std::to_string(value) +
                 " of " + std::to_string(limit));
}

void check(const graph_plan& plan) {
  if (plan.result >= plan.nodes.size()) malformed("result node", plan.result, plan.nodes.size());
  for (std::size_t at = 0; at < plan.nodes.size(); ++at) {
    const graph_plan::node& node = plan.nodes[at];
    if (node.kind > node_kind::given) {
      malformed("node kind", static_cast<unsigned>(node.kind), static_cast<unsigned>(node_kind::given));
    }
    if (node.kind == node_kind::task && node.task >= plan.tasks.size()) {
      malformed("task", node.task, plan.tasks.size());
    }
    for (const std::uint32_t input : node.inputs) {
      if (input >= at) malformed("input", input, at);
    }
  }
}

}  // namespace

graph_plan plan_of(const graph_core& graph, node_index end, std::vector<node_index>& places,
                   std::unique_ptr<shared_things>& shared) {
  planner made(graph, places);
  for (node_index index = 0; index < end; ++index) {
    if (!graph.at(index).has_ended()) made.add(index);
  }
  shared = std::move(made.shared);
  return std::move(made.plan);
}

graph_plan plan_of_result(const graph_core& graph, node_index result) {
  const auto lock = graph.lock();
  std::vector<node_index> places;
  planner made(graph, places);
  for (node_index index = 0; index < graph.count(); ++index) {
    if (!graph.at(index).has_ended()) made.add(index);
  }
  made.plan.result = made.place_of(result);
  return std::move(made.plan);
}

node_index append_plan(graph_core& graph, graph_plan plan) {
  check(plan);
  std::vector<const entry*> tasks;
  for (const graph_plan::task& each : plan.tasks) {
    tasks.push_back(graph.entry_of(each.identity, each.name, each.limits));
  }
  const node_index first = graph.count();
  for (graph_plan::node& each : plan.nodes) {
    graph_node added;
    added.kind = each.kind;
    added.expands = each.expands;
    added.what = each.kind == node_kind::task ? tasks[each.task] : nullptr;
    added.data = std::move(each.data);
    added.name = std::move(each.name);
    added.inputs.reserve(each.inputs.size());
    for (const std::uint32_t input : each.inputs) added.inputs.push_back(first + input);
    graph.append(std::move(added));
  }
  return first + plan.result;
}

plan_outcome run_plan(graph_plan plan, instance on) {
  const auto graph = std::make_shared<graph_core>(
      std::make_unique<graph::host_controlled_executor>(std::move(on)));
  std::vector<bool> wanted;
  for (const graph_plan::node& each : plan.nodes) wanted.push_back(each.is_wanted);
  {
    const auto lock = graph->lock();
    append_plan(*graph, std::move(plan));
  }
  for (node_index node = 0; node < wanted.size(); ++node) {
    if (wanted[node]) graph->hold(node);
  }
  try {
    graph->await_all();
  } catch (const error&) {
    // Told node by node below.
  }
  plan_outcome outcome;
  {
    const auto lock = graph->lock();
    for (node_index node = 0; node < wanted.size(); ++node) {
      const graph_node& ended = graph->at(node);
      if (ended.state == node_state::done && wanted[node]) {
        outcome.values.push_back({node, ended.result});
      } else if (ended.state == node_state::failed) {
        const node_failure& why = *ended.failure;
        outcome.failures.push_back({node, why.kind, why.message, why.remote_type, why.id});
      }
    }
  }
  graph->close();
  return outcome;
}

}  // namespace cppless::detail
