// SPDX-License-Identifier: Apache-2.0
/// oneTBB's dependency graph: a continue_node for each node, values in a vector.

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <deque>

#include "workload.hpp"

namespace bench {

std::uint64_t computed_by_tbb(const shape& of, unsigned threads) {
  namespace flow = oneapi::tbb::flow;
  using node = flow::continue_node<flow::continue_msg>;
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                          threads);
  std::vector<std::uint64_t> values(of.size());
  flow::graph graph;
  std::deque<node> nodes;
  for (std::size_t i = 0; i < of.size(); ++i) {
    nodes.emplace_back(graph, [&values, &of, i](const flow::continue_msg&) {
      std::uint64_t sum = 0;
      for (const std::uint32_t input : of.inputs[i]) sum += values[input];
      values[i] = mix(i, sum);
    });
    for (const std::uint32_t input : of.inputs[i]) flow::make_edge(nodes[input], nodes[i]);
  }
  nodes.front().try_put(flow::continue_msg());
  graph.wait_for_all();
  return values.back();
}

}  // namespace bench
