// SPDX-License-Identifier: Apache-2.0
// What the end of a node leads to.
#include <cppless/detail/graph/graph_core.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <cppless/detail/graph/graph_plan.hpp>

namespace cppless::detail {
namespace {

void put_number(sink& to, std::uint64_t number) { to.write(&number, sizeof number); }

}  // namespace

std::unique_ptr<node_failure> failure_of_current_exception() {
  auto made = std::make_unique<node_failure>();
  try {
    throw;
  } catch (const task_failed& error) {
    *made = {error.kind(), error.what(), error.remote_type(), error.id()};
  } catch (const error& error) {
    *made = {error.kind(), error.what(), {}, error.id()};
  } catch (const std::exception& error) {
    *made = {error_kind::rejected, error.what(), {}, 0};
  } catch (...) {
    *made = {error_kind::rejected, "an exception that is no std::exception", {}, 0};
  }
  return made;
}

void graph_core::make_eligible() {
  for (; eligible_ < count(); ++eligible_) {
    graph_node& node = nodes_[eligible_];
    if (node.state != node_state::added) continue;
    node.state = node_state::waiting;
    if (node.missing == 0) make_ready(eligible_);
  }
  join_ready();
}

void graph_core::make_ready(node_index node) {
  graph_node& which = nodes_[node];
  which.state = node_state::ready;
  if (which.kind == node_kind::task) {
    ready_.push_back(node);
  } else {
    joins_.push_back(node);
  }
}

void graph_core::bring_in(std::unique_ptr<node_outcome> outcomes) {
  for (; outcomes != nullptr; outcomes = std::move(outcomes->next)) {
    node_outcome& each = *outcomes;
    if (nodes_[each.node].has_ended()) continue;  // cancelled meanwhile, or the graph was closed
    if (nodes_[each.node].kind == node_kind::given) {
      std::erase_if(futures_, [&](const pending_future& of) { return of.node == each.node; });
    }
    if (each.failure != nullptr) {
      fail(each.node, std::move(each.failure));
    } else if (nodes_[each.node].expands) {
      expand(each.node, each.result);
    } else {
      finish(each.node, std::move(each.result), each.statistics);
    }
  }
  join_ready();
}

// A list instead of a recursion: chains of such nodes may be long.
void graph_core::join_ready() {
  while (!joins_.empty()) {
    const node_index node = joins_.back();
    joins_.pop_back();
    graph_node& which = nodes_[node];
    if (which.state != node_state::ready) continue;
    if (which.kind != node_kind::given) which.shared = shared_by_inputs(which);
    bytes result = which.kind == node_kind::given ? std::move(which.data) : joined(which);
    read_inputs(which);
    finish(node, std::move(result), {});
  }
}

bytes graph_core::joined(const graph_node& of) {
  if (of.kind == node_kind::join) {
    if (of.inputs.empty()) return {};
    if (of.inputs.size() == 1) {
      graph_node& input = nodes_[of.inputs.front()];
      if (input.readers == 1 && input.handles == 0) return std::move(input.result);
      return input.result;
    }
  }
  heap_sink to;
  if (of.kind != node_kind::join) put_number(to, of.inputs.size());
  for (const node_index each : of.inputs) {
    const bytes& part = nodes_[each].result;
    if (of.kind == node_kind::sized_gather) put_number(to, part.size());
    to.write(part.data(), part.size());
  }
  return to.release();
}

std::shared_ptr<const shared_things> graph_core::shared_by_inputs(const graph_node& of) const {
  std::unique_ptr<shared_things> all;
  for (const node_index each : of.inputs) keep_too(all, nodes_[each].shared);
  return all;
}

void graph_core::expand(node_index node, const bytes& result) {
  graph_node& stand_in = nodes_[node];
  const node_index first = count();
  node_index last = no_node;
  try {
    source from(result.data(), result.size());
    graph_plan plan = decode<graph_plan>(from);
    from.finish();
    last = append_plan(*this, std::move(plan));
  } catch (...) {
    auto reason = failure_of_current_exception();
    reason->message = "returned a graph that cannot be run: " + reason->message;
    fail(node, std::move(reason));
    return;
  }
  --running_;
  stand_in.kind = node_kind::join;
  stand_in.expands = false;
  stand_in.is_stand_in = true;
  stand_in.has_read = false;
  stand_in.inputs = {last};
  stand_in.missing = 1;
  stand_in.state = node_state::waiting;
  nodes_[last].successors.push_back(node);
  ++nodes_[last].readers;
  for (node_index each = first; each < count(); ++each) {
    if (!stand_in.name.empty()) {
      std::string& name = nodes_[each].name;
      name = stand_in.name + "/" + (name.empty() ? std::to_string(each - first) : name);
    }
    nodes_[each].state = node_state::waiting;
    if (nodes_[each].missing == 0) make_ready(each);
  }
}

void graph_core::finish(node_index node, bytes result, const execution_statistics& statistics) {
  graph_node& finished = nodes_[node];
  finished.result = std::move(result);
  end(node, node_state::done, statistics);
  for (const node_index each : std::exchange(finished.successors, {})) {
    graph_node& successor = nodes_[each];
    if (--successor.missing == 0 && successor.state == node_state::waiting) make_ready(each);
  }
  drop_unread(finished);
}

void graph_core::fail(node_index node, std::unique_ptr<node_failure> reason) {
  nodes_[node].failure = std::move(reason);
  nodes_[node].cause = node;
  std::vector<node_index> lost{node};
  while (!lost.empty()) {
    const node_index each = lost.back();
    lost.pop_back();
    graph_node& ended = nodes_[each];
    if (ended.has_ended()) continue;
    if (ended.is_stand_in && ended.failure == nullptr) {  // fails as what it stands for did
      ended.failure = std::make_unique<node_failure>(*nodes_[ended.cause].failure);
      ended.failure->message = describe(ended.cause) + ": " + ended.failure->message;
      ended.cause = each;
    }
    const bool has_failed = ended.failure != nullptr;
    if (has_failed) unreported_failures_.push_back(each);
    ended.data = {};
    ended.shared = nullptr;
    read_inputs(ended);
    for (const node_index next : std::exchange(ended.successors, {})) {
      if (nodes_[next].has_ended()) continue;
      nodes_[next].cause = ended.cause;
      lost.push_back(next);
    }
    end(each, has_failed ? node_state::failed : node_state::cancelled, {});
  }
}

void graph_core::end(node_index node, node_state as, const execution_statistics& statistics) {
  graph_node& ended = nodes_[node];
  if (ended.state == node_state::running) --running_;
  ended.state = as;
  --unfinished_;
  if (ended.listeners.empty()) return;
  ++ended.handles;  // keeps the result until it is delivered
  to_settle_.push_back({node, statistics});
}

void graph_core::read_inputs(graph_node& of) {
  if (std::exchange(of.has_read, true)) return;
  for (const node_index each : of.inputs) {
    --nodes_[each].readers;
    drop_unread(nodes_[each]);
  }
}

void graph_core::drop_unread(graph_node& of) noexcept {
  if (of.readers != 0 || of.handles != 0 || !of.has_ended()) return;
  of.result = {};
  of.shared = nullptr;
}

void graph_core::settle(std::unique_lock<std::mutex>& lock) {
  while (!to_settle_.empty()) {
    const std::vector<settlement> settled = std::exchange(to_settle_, {});
    std::vector<delivery> deliveries;
    for (const settlement& each : settled) {
      graph_node& node = nodes_[each.node];
      for (auto& listener : std::exchange(node.listeners, {})) {
        const bool is_done = node.state == node_state::done;
        deliveries.push_back({std::move(listener), &node.result,
                              is_done ? nullptr : error_of(each.node), each.statistics});
      }
    }
    const std::thread::id self = std::this_thread::get_id();
    settling_.push_back(self);
    lock.unlock();
    for (delivery& each : deliveries) {
      try {
        if (each.error != nullptr) {
          each.to->fail(std::move(each.error));
        } else {
          source from(each.result->data(), each.result->size());
          each.to->succeed(from, each.statistics);
        }
      } catch (...) {
        const auto reason = failure_of_current_exception();
        each.to->fail(std::make_exception_ptr(
            rejected("a node's result could not be decoded: " + reason->message)));
      }
      each.to->settled();
    }
    deliveries.clear();
    lock.lock();
    settling_.erase(std::find(settling_.begin(), settling_.end(), self));
    for (const settlement& each : settled) {
      --nodes_[each.node].handles;
      drop_unread(nodes_[each.node]);
    }
  }
}

std::string graph_core::describe(node_index node) const {
  const graph_node& which = nodes_[node];
  if (!which.name.empty()) return "node \"" + which.name + "\"";
  std::string text = "node " + std::to_string(node);
  if (which.what != nullptr) text += std::string(" (task ") + which.what->name() + ")";
  return text;
}

std::exception_ptr graph_core::error_of(node_index node) const {
  const graph_node& ended = nodes_[node];
  try {
    if (ended.state == node_state::cancelled) {
      const node_failure& cause = *nodes_[ended.cause].failure;
      throw cancelled(describe(node) + " was cancelled because " + describe(ended.cause) +
                      " failed: " + cause.message);
    }
    const node_failure& failure = *ended.failure;
    error::raise(failure.kind, describe(node) + ": " + failure.message, failure.id,
                 failure.remote_type);
  } catch (...) {
    return std::current_exception();
  }
}

graph_core::foreign_entry::foreign_entry(std::uint64_t identity, const std::string& task,
                                         const task_limits& limits)
    : name(task),
      what{[](source&, sink&) {
             throw rejected("this executable has no code of the task: only dispatchers that send "
                            "tasks elsewhere can run it here");
           },
           nullptr, {name.c_str(), nullptr}, {name.c_str(), nullptr}, limits, identity} {}

const entry* graph_core::entry_of(std::uint64_t identity, const std::string& name,
                                  const task_limits& limits) {
  if (const entry* const own = find_entry(identity)) return own;
  const auto known = std::find_if(foreign_.begin(), foreign_.end(), [&](const foreign_entry& each) {
    return each.what.identity() == identity;
  });
  if (known != foreign_.end()) return &known->what;
  return &foreign_.emplace_back(identity, name, limits).what;
}

}  // namespace cppless::detail
