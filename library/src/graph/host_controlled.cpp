// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include <cppless/graph.hpp>

namespace cppless {

namespace detail {
namespace {

/// The invocation of one node. Its result is not decoded: successors take it as it is.
class node_job final : public job {
 public:
  node_job(const entry& what, payload_memory& memory, std::shared_ptr<graph_core> graph,
           node_index node)
      : job(what, memory), graph_(std::move(graph)), outcome_(std::make_unique<node_outcome>()) {
    outcome_->node = node;
  }

  void succeed(source& result) override {
    const std::size_t size = result.remaining();
    outcome_->result = bytes(result.take(size), size);
  }
  void fail(std::exception_ptr reason) noexcept override {
    error_ = reason;
    try {
      std::rethrow_exception(std::move(reason));
    } catch (...) {
      outcome_->failure = failure_of_current_exception();
    }
  }
  bool is_awaited() const noexcept override { return false; }
  std::exception_ptr thrown() const noexcept override { return error_; }
  void publish() noexcept override {
    outcome_->statistics = statistics;
    graph_->report(std::move(outcome_));
  }
  void notify() noexcept override { graph_->advance(); }

 private:
  std::shared_ptr<graph_core> graph_;
  std::unique_ptr<node_outcome> outcome_;
  std::exception_ptr error_;
};

std::unique_ptr<job> job_for(graph_core& graph, instance_core& core, node_index node) {
  const graph_node& which = graph.at(node);
  auto made = std::make_unique<node_job>(*which.what, core.memory(), graph.shared_from_this(), node);
  std::size_t size = which.data.size();
  keep_too(made->shared, which.shared);
  for (const node_index each : which.inputs) {
    size += graph.at(each).result.size();
    keep_too(made->shared, graph.at(each).shared);
  }
  made->payload.make_room(size);
  made->payload.write(which.data.data(), which.data.size());
  for (const node_index each : which.inputs) {
    const bytes& value = graph.at(each).result;
    made->payload.write(value.data(), value.size());
  }
  return made;
}

}  // namespace
}  // namespace detail

namespace graph {

host_controlled_executor::host_controlled_executor(instance&& own)
    : own_(std::move(own)), core_(own_->core()) {}

host_controlled_executor::host_controlled_executor(instance& borrowed) : core_(borrowed.core()) {}

void host_controlled_executor::start(detail::graph_core& graph) {
  for (auto node = graph.take_ready(); node != detail::no_node; node = graph.take_ready()) {
    try {
      std::unique_ptr<detail::job> made = detail::job_for(graph, *core_, node);
      graph.run(node);
      graph.set_id(node, core_->submit(std::move(made)));
    } catch (...) {  // too large, or the instance is closed
      auto outcome = std::make_unique<detail::node_outcome>();
      outcome->node = node;
      outcome->failure = detail::failure_of_current_exception();
      graph.report(std::move(outcome));
    }
  }
}

void host_controlled_executor::wait_for(const std::atomic<bool>& flag, detail::time_point until) {
  core_->wait_for(flag, until);
}

bool host_controlled_executor::cancel(task_id id) { return core_->cancel(id); }

void host_controlled_executor::close() noexcept {
  if (own_) core_->close();
}

}  // namespace graph
}  // namespace cppless
