// SPDX-License-Identifier: Apache-2.0
/// Graphs of 1 to 100,000 nodes that do nothing: microseconds per node, building included.
/// oneTBB's flow graph runs in this process, on as many threads as cppless has workers; cppless's
/// nodes go to other processes and back.

#include <algorithm>
#include <cppless/cppless.hpp>

#include "../harness.hpp"
#include "workload.hpp"

namespace {

constexpr unsigned workers = 2;

/// The thesis's interface, used as its users would: a vector of nodes is a dependency.
template <class Executor>
std::uint64_t computed_by(cppless::graph::builder<Executor>& builder, const bench::shape& of) {
  using sender = cppless::graph::sender<std::uint64_t>;
  std::vector<sender> nodes;
  nodes.reserve(of.size());
  const auto start = schedule(builder);
  for (std::uint64_t i = 0; i < of.size(); ++i) {
    const auto& inputs = of.inputs[i];
    if (inputs.empty()) {
      nodes.push_back(then(start, [i] { return bench::mix(i, 0); }));
    } else if (inputs.size() == 1) {
      nodes.push_back(then(nodes[inputs[0]], [i](std::uint64_t x) { return bench::mix(i, x); }));
    } else {
      std::vector<sender> from;
      from.reserve(inputs.size());
      for (const std::uint32_t each : inputs) from.push_back(nodes[each]);
      nodes.push_back(then(from, [i](const std::vector<std::uint64_t>& values) {
        std::uint64_t sum = 0;
        for (const std::uint64_t each : values) sum += each;
        return bench::mix(i, sum);
      }));
    }
  }
  auto last = nodes.back()->future();
  nodes.clear();  // the other results need not be kept
  builder.await_all();
  return last.get();
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("graph", argc, argv);
  const cppless::local_dispatcher local({.workers = workers});
  auto warm = local.create_instance();
  for (const std::size_t count : {1, 1000, 10'000, 100'000}) {
    for (const auto& make : {&bench::chain, &bench::fan, &bench::random_dag}) {
      const bench::shape shape = make(count);
      if (count == 1 && shape.name != "chain") continue;  // there is one graph of one node
      const std::uint64_t expected = bench::computed_in_place(shape);
      std::uint64_t answer = 0;
      const auto right = [&] { return answer == expected; };
      const auto each = [&](auto compute) {
        return [&, compute] {
          return bench::microseconds([&] { answer = compute(); }) / static_cast<double>(count);
        };
      };
      std::vector<bench::implementation> rows;
#if defined(BENCH_HAS_TBB)
      rows.push_back({"oneTBB flow graph, in process",
                      each([&] { return bench::computed_by_tbb(shape, workers); }), right});
#endif
      rows.push_back({"cppless, host-controlled", each([&] {
                        cppless::graph::builder builder{warm};
                        return computed_by(builder, shape);
                      }),
                      right});
      rows.push_back({"cppless, delegating", each([&] {
                        cppless::graph::builder<cppless::graph::delegating_executor<>> builder{
                            local, warm};
                        return computed_by(builder, shape);
                      }),
                      right});
      rows.push_back({"cppless, host-controlled, inline", each([&] {
                        cppless::graph::builder builder{cppless::inline_dispatcher()};
                        return computed_by(builder, shape);
                      }),
                      right});
      suite.compare(shape.name + "/" + std::to_string(count), {"us/node"}, rows.front().name, rows);
    }
  }
  return suite.finish();
}
