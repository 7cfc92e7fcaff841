// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include <cppless/graph.hpp>

namespace cppless::graph {

void dry_run_executor::start(detail::graph_core& graph) {
  std::vector<std::string> step;
  for (auto node = graph.take_ready(); node != detail::no_node; node = graph.take_ready()) {
    const std::string& given = graph.at(node).name;
    std::string name = given.empty() ? graph.at(node).what->name() : given;
    graph.run_whole(node);
    auto outcome = std::make_unique<detail::node_outcome>();
    outcome->node = node;
    if (std::find(failing_.begin(), failing_.end(), name) != failing_.end()) {
      outcome->failure = std::make_unique<detail::node_failure>(
          detail::node_failure{error_kind::task_failed, "was to fail in this dry run", "", 0});
    }
    graph.report(std::move(outcome));
    step.push_back(std::move(name));
  }
  if (!step.empty()) steps_.push_back(std::move(step));
}

}  // namespace cppless::graph
