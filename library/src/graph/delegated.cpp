// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include <cppless/graph.hpp>

namespace cppless {

namespace detail {
namespace {

/// The task that runs a graph's nodes: its outcome is theirs.
class plan_job final : public job {
 public:
  plan_job(const entry& what, payload_memory& memory, std::shared_ptr<graph_core> graph,
           std::vector<node_index> places, std::shared_ptr<std::atomic<bool>> is_under_way)
      : job(what, memory),
        graph_(std::move(graph)),
        places_(std::move(places)),
        is_under_way_(std::move(is_under_way)) {}
  ~plan_job() override {
    while (outcomes_ != nullptr) outcomes_ = std::move(outcomes_->next);  // not by recursion
  }

  void succeed(source& result) override {
    auto outcome = decode<plan_outcome>(result);
    result.finish();
    std::unordered_set<std::uint32_t> named;
    for (plan_outcome::value& each : outcome.values) {
      add(place(each.node), std::move(each.result));
      named.insert(each.node);
    }
    for (std::uint32_t at = 0; at < places_.size(); ++at) {
      if (places_[at] != no_node && !named.contains(at)) add(places_[at], {});
    }
    // Last, so that they come first: they cancel what depends on them.
    for (plan_outcome::failure& each : outcome.failures) {
      auto reason = std::make_unique<node_failure>(node_failure{
          each.kind, std::move(each.message), std::move(each.remote_type), each.id});
      add(place(each.node), {}, std::move(reason));
    }
  }

  void fail(std::exception_ptr reason) noexcept override {
    error_ = reason;
    while (outcomes_ != nullptr) outcomes_ = std::move(outcomes_->next);
    try {
      std::rethrow_exception(std::move(reason));
    } catch (...) {
      const std::unique_ptr<node_failure> failure = failure_of_current_exception();
      failure->message = "the task that ran the graph ended: " + failure->message;
      for (auto at = places_.rbegin(); at != places_.rend(); ++at) {
        if (*at != no_node) add(*at, {}, std::make_unique<node_failure>(*failure));
      }
    }
  }

  bool is_awaited() const noexcept override { return false; }
  std::exception_ptr thrown() const noexcept override { return error_; }
  void publish() noexcept override {
    is_under_way_->store(false);
    graph_->report(std::move(outcomes_));
  }
  void notify() noexcept override { graph_->advance(); }

 private:
  node_index place(std::uint32_t of) const {
    if (of >= places_.size() || places_[of] == no_node) {
      throw rejected("malformed outcome of a graph: node " + std::to_string(of) + " of " +
                     std::to_string(places_.size()));
    }
    return places_[of];
  }

  void add(node_index node, bytes result, std::unique_ptr<node_failure> failure = nullptr) {
    auto added = std::make_unique<node_outcome>();
    added->node = node;
    added->result = std::move(result);
    added->failure = std::move(failure);
    added->next = std::move(outcomes_);
    outcomes_ = std::move(added);
  }

  std::shared_ptr<graph_core> graph_;
  std::vector<node_index> places_;
  std::shared_ptr<std::atomic<bool>> is_under_way_;
  std::unique_ptr<node_outcome> outcomes_;
  std::exception_ptr error_;
};

bool waits_for_a_future(const graph_core& graph) {
  for (node_index index = 0; index < graph.eligible(); ++index) {
    const graph_node& node = graph.at(index);
    if (node.kind == node_kind::given && !node.has_ended()) return true;
  }
  return false;
}

}  // namespace
}  // namespace detail

namespace graph {

using detail::node_index;

delegating_executor_base::delegating_executor_base(instance&& own, detail::call_target runner)
    : own_(std::move(own)), core_(own_->core()), runner_(runner) {}

delegating_executor_base::delegating_executor_base(instance& borrowed, detail::call_target runner)
    : core_(borrowed.core()), runner_(runner) {}

void delegating_executor_base::start(detail::graph_core& graph) {
  // Nodes that were added meanwhile follow together, when these have ended.
  if (is_under_way_->load() || detail::waits_for_a_future(graph)) return;
  if (graph.take_ready() == detail::no_node) return;
  std::vector<node_index> places;
  std::unique_ptr<detail::shared_things> shared;
  const detail::graph_plan plan = detail::plan_of(graph, graph.eligible(), places, shared);
  for (const node_index each : places) {
    if (each != detail::no_node) graph.run_whole(each);
  }
  is_under_way_->store(true);
  auto made = std::make_unique<detail::plan_job>(*runner_.what, core_->memory(),
                                                 graph.shared_from_this(), std::move(places),
                                                 is_under_way_);
  made->shared = std::move(shared);
  try {
    detail::encode_arguments<detail::graph_plan>(made->payload, plan);
    id_ = core_->submit(std::move(made));
  } catch (...) {  // too large, or the instance is closed
    if (made != nullptr) made->fail(std::current_exception());
    if (made != nullptr) made->publish();
  }
}

void delegating_executor_base::wait_for(const std::atomic<bool>& flag, detail::time_point until) {
  core_->wait_for(flag, until);
}

// What the nodes name is kept by the task that carries them; their own tasks are sent from where it
// runs, which on another machine has nothing that could be named.
detail::instance_core* delegating_executor_base::encodes_for() const noexcept {
  return core_->is_on_this_machine() ? core_.get() : nullptr;
}

void delegating_executor_base::close() noexcept {
  if (own_) {
    core_->close();
  } else if (is_under_way_->load()) {
    core_->cancel(id_);
  }
}

}  // namespace graph
}  // namespace cppless
