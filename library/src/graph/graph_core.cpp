// SPDX-License-Identifier: Apache-2.0
#include <cppless/graph.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace cppless::detail {
namespace {

using std::chrono::steady_clock;

// Where something else than an outcome may end the wait (a future of another instance, a node that
// another thread cancels), nobody wakes the executor: it looks up that often.
constexpr auto turn_among_others = std::chrono::milliseconds(1);
constexpr auto longest_turn = std::chrono::milliseconds(100);

std::unique_ptr<node_failure> cancellation(const char* how) {
  auto made = std::make_unique<node_failure>();
  made->message = how;
  return made;
}

/// Registers a flag that every report sets.
class waiter {
 public:
  waiter(std::mutex& mutex, std::vector<std::atomic<bool>*>& list) : mutex_(mutex), list_(list) {
    const std::lock_guard lock(mutex_);
    list_.push_back(&news);
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() {
    const std::lock_guard lock(mutex_);
    std::erase(list_, &news);
  }

  std::atomic<bool> news{false};

 private:
  std::mutex& mutex_;
  std::vector<std::atomic<bool>*>& list_;
};

}  // namespace

std::shared_ptr<graph_core> common_graph(
    std::initializer_list<std::shared_ptr<graph_core>> of_dependencies) {
  std::shared_ptr<graph_core> common;
  for (const auto& each : of_dependencies) {
    if (each == nullptr) continue;
    if (common != nullptr && common != each) {
      throw rejected("a node cannot depend on nodes of two graphs");
    }
    common = each;
  }
  if (common == nullptr) {
    throw rejected("a node must depend on at least one node, which says in which graph it is: "
                   "schedule(builder) makes one");
  }
  return common;
}

graph_core::graph_core(std::unique_ptr<graph_executor> by) : executor_(std::move(by)) {}

graph_core::~graph_core() {
  // One by one: the default would recurse.
  while (reports_ != nullptr) reports_ = std::move(reports_->next);
}

node_index graph_core::add(graph_node added) {
  const std::lock_guard lock(mutex_);
  added.handles = 1;
  return append(std::move(added));
}

node_index graph_core::append(graph_node added) {
  if (closed_) throw cancelled("the graph is closed: it takes no more nodes");
  if (nodes_.size() >= no_node - 1) {
    throw rejected("a graph can have " + std::to_string(no_node - 1) + " nodes");
  }
  const node_index self = count();
  for (const node_index each : added.inputs) {
    graph_node& input = nodes_[each];
    ++input.readers;
    if (input.has_ended()) continue;
    input.successors.push_back(self);
    ++added.missing;
  }
  nodes_.push_back(std::move(added));
  ++unfinished_;
  // What it depends on may have failed already.
  for (const node_index each : nodes_[self].inputs) {
    const graph_node& input = nodes_[each];
    if (!input.has_ended() || input.state == node_state::done) continue;
    nodes_[self].cause = input.state == node_state::failed ? each : input.cause;
    read_inputs(nodes_[self]);
    end(self, node_state::cancelled, {});
    break;
  }
  return self;
}

node_index graph_core::add_future(std::shared_ptr<future_state_base> from,
                                  std::function<void(sink& to)> encode) {
  graph_node added;
  added.kind = node_kind::given;
  added.missing = 1;
  added.handles = 1;
  node_index self = no_node;
  {
    const std::lock_guard lock(mutex_);
    self = append(std::move(added));
    futures_.push_back({self, from});
  }
  future_state_base* const source = from.get();  // which keeps the continuation
  auto outcome = std::make_shared<std::unique_ptr<node_outcome>>(std::make_unique<node_outcome>());
  (*outcome)->node = self;
  from->when_ready([graph = weak_from_this(), source, outcome, encode = std::move(encode)] {
    const std::shared_ptr<graph_core> to = graph.lock();
    if (to == nullptr) return;
    node_outcome& made = **outcome;
    try {
      source->throw_error();
      heap_sink encoded;
      encode(encoded);
      made.result = encoded.release();
    } catch (...) {
      made.failure = failure_of_current_exception();
    }
    to->report(std::move(*outcome));
    to->advance();
  });
  return self;
}

void graph_core::set_name(node_index of, std::string name) {
  const std::lock_guard lock(mutex_);
  nodes_[of].name = std::move(name);
}

void graph_core::listen(node_index to, std::shared_ptr<node_listener> listener) {
  std::unique_lock lock(mutex_);
  graph_node& node = nodes_[to];
  node.listeners.push_back(std::move(listener));
  if (!node.has_ended()) return;
  ++node.handles;
  to_settle_.push_back({to, {}});
  settle(lock);
}

void graph_core::hold(node_index node) {
  const std::lock_guard lock(mutex_);
  ++nodes_[node].handles;
}

void graph_core::release(node_index node) noexcept {
  const std::lock_guard lock(mutex_);
  --nodes_[node].handles;
  drop_unread(nodes_[node]);
}

void graph_core::start() {
  {
    const std::lock_guard lock(mutex_);
    make_eligible();
  }
  advance();
}

template <class Done>
bool graph_core::wait_until(time_point until, Done done) {
  waiter self(reports_mutex_, waiters_);
  for (std::size_t turn = 0;; ++turn) {
    self.news.store(false);
    start();
    bool has_running = false;
    std::shared_ptr<future_state_base> future;
    {
      const std::lock_guard lock(mutex_);
      if (done()) return true;
      has_running = running_ != 0;
      if (!futures_.empty()) future = futures_[turn % futures_.size()].state;
    }
    const time_point now = steady_clock::now();
    if (now >= until) return false;
    const time_point short_turn = std::min(until, now + turn_among_others);
    if (has_running) {
      executor_->wait_for(self.news, future ? short_turn : std::min(until, now + longest_turn));
    }
    if (future != nullptr && !future->is_ready() && !self.news.load()) {
      future->wait_until(short_turn);
    } else if (!has_running) {
      let_others_run();  // another thread brings outcomes in, or settles futures
    }
  }
}

bool graph_core::wait(node_index node, time_point until) {
  return wait_until(until, [&] { return nodes_[node].has_ended(); });
}

void graph_core::await_all() {
  const std::thread::id self = std::this_thread::get_id();
  wait_until(time_point::max(), [&] {
    return unfinished_ == 0 && std::all_of(settling_.begin(), settling_.end(),
                                           [&](std::thread::id each) { return each == self; });
  });
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    if (unreported_failures_.empty()) return;
    error = error_of(*std::min_element(unreported_failures_.begin(), unreported_failures_.end()));
    unreported_failures_.clear();
  }
  std::rethrow_exception(error);
}

bool graph_core::cancel(node_index node) {
  std::unique_lock lock(mutex_);
  const graph_node& which = nodes_[node];
  if (which.has_ended()) return false;
  if (which.state == node_state::running) {
    const task_id id = which.id;
    lock.unlock();
    return executor_->cancel(id);
  }
  fail(node, cancellation("was cancelled"));
  join_ready();
  settle(lock);
  return true;
}

void graph_core::close() noexcept {
  std::vector<task_id> running;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    for (const graph_node& each : nodes_) {
      if (running_ != 0 && each.state == node_state::running) running.push_back(each.id);
    }
  }
  executor_->close();
  for (const task_id each : running) executor_->cancel(each);
  advance();
  std::unique_lock lock(mutex_);
  for (node_index node = 0; node < count() && unfinished_ != 0; ++node) {
    if (nodes_[node].has_ended()) continue;
    fail(node, cancellation("had not ended when the graph was closed"));
  }
  futures_.clear();
  settle(lock);
}

std::size_t graph_core::size() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

node_index graph_core::take_ready() {
  while (!ready_.empty()) {
    const node_index node = ready_.front();
    ready_.pop_front();
    if (nodes_[node].state == node_state::ready) return node;  // else it was cancelled meanwhile
  }
  return no_node;
}

void graph_core::run(node_index node) {
  graph_node& started = nodes_[node];
  started.state = node_state::running;
  ++running_;
  started.data = {};
  started.shared = nullptr;
  read_inputs(started);
}

void graph_core::run_whole(node_index node) {
  nodes_[node].expands = false;
  run(node);
}

void graph_core::report(std::unique_ptr<node_outcome> outcomes) noexcept {
  node_outcome* last = outcomes.get();
  while (last->next != nullptr) last = last->next.get();
  const std::lock_guard lock(reports_mutex_);
  (reports_ == nullptr ? reports_ : last_report_->next) = std::move(outcomes);
  last_report_ = last;
  for (std::atomic<bool>* each : waiters_) each->store(true);
}

std::unique_ptr<node_outcome> graph_core::take_reports() noexcept {
  const std::lock_guard lock(reports_mutex_);
  last_report_ = nullptr;
  return std::move(reports_);
}

void graph_core::advance() {
  const std::thread::id self = std::this_thread::get_id();
  // An instance may settle a job while it is being submitted: whoever submits it looks again.
  if (advancing_.load() == self) return;
  std::unique_lock lock(mutex_);
  advancing_ = self;
  for (bool is_first = true;; is_first = false) {
    std::unique_ptr<node_outcome> outcomes = take_reports();
    if (outcomes == nullptr && !is_first) break;
    bring_in(std::move(outcomes));
    if (!closed_) executor_->start(*this);
  }
  advancing_ = std::thread::id();
  settle(lock);
}

}  // namespace cppless::detail
