// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/graph/graph_plan.hpp>
#include <cppless/detail/graph/node_types.hpp>
#include <cppless/future.hpp>
#include <cppless/instance.hpp>
#include <cppless/task.hpp>

/// Tasks that depend on tasks (thesis 3.3, 4.2.2):
///
///     cppless::graph::builder builder{cppless::local_dispatcher()};
///     auto a = schedule(builder);
///     auto b = then(a, [] { return 12; });
///     auto c = then(b, [](int m) { return m + 1; });
///     auto f = c->future();
///     builder.await_all();
///     std::cout << f.value();
///
/// A graph may have any shape; as a node is added after those it depends on, there are no circles.
/// Results stay encoded: they go into the arguments of what depends on them without being decoded on
/// the way, and are given up when nobody can ask for them any more.
///
/// A node that fails cancels what depends on it; all others run and keep their results. Errors name
/// the node: `node "resize": task ... threw std::out_of_range: ...`.
namespace cppless::graph {

/// A node, by its result: what `schedule` and `then` return. Cheap to copy; while there is a copy,
/// the node's result is kept. `a.future()` and `a->future()` are the same.
///
/// Thread safety: one thread at a time per object; copies may be used from several threads.
template <class T>
class sender {
 public:
  using value_type = T;

  sender(const sender& other) : graph_(other.graph_), index_(other.index_) {
    if (graph_ != nullptr) graph_->hold(index_);
  }
  sender(sender&& other) noexcept = default;
  sender& operator=(sender other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~sender() {
    if (graph_ != nullptr) graph_->release(index_);
  }

  sender* operator->() noexcept { return this; }
  const sender* operator->() const noexcept { return this; }

  /// A future of the result, decoded once for each future. Waiting for it runs the graph. It may
  /// outlive the builder: what had not ended then is `cancelled`. Its `cancel` ends the node and what
  /// depends on it (with `delegating_executor` only before the graph is started).
  cppless::future<T> future() const {
    auto state = std::make_shared<detail::node_future<T>>(graph_, index_);
    graph_->listen(index_, state);
    return cppless::future<T>(std::move(state));
  }

  /// Names the node in errors and drawings; otherwise it goes by its number and its task's name.
  sender& name(std::string text) {
    graph_->set_name(index_, std::move(text));
    return *this;
  }

  /// For the templates of this library: takes over the handle that `graph_core::add` returned.
  sender(std::shared_ptr<detail::graph_core> graph, detail::node_index index)
      : graph_(std::move(graph)), index_(index) {}
  const std::shared_ptr<detail::graph_core>& graph() const noexcept { return graph_; }
  detail::node_index index() const noexcept { return index_; }

 private:
  std::shared_ptr<detail::graph_core> graph_;
  detail::node_index index_;
};

/// Dispatches each node when its inputs are there. Results come to this process and go on from it,
/// as bytes. There is no thread for it: whoever waits for the graph, or for one of its futures,
/// drives it; while nobody does, it goes on where results come in by themselves (not inline).
class host_controlled_executor final : public detail::graph_executor {
 public:
  /// On an instance of its own.
  template <dispatcher D>
  explicit host_controlled_executor(const D& on) : host_controlled_executor(on.create_instance()) {}
  explicit host_controlled_executor(instance&& own);

  /// On an instance that others use as well.
  explicit host_controlled_executor(instance& borrowed);

  void start(detail::graph_core& graph) override;
  void wait_for(const std::atomic<bool>& flag, detail::time_point until) override;
  bool cancel(task_id id) override;
  void close() noexcept override;
  detail::instance_core* encodes_for() const noexcept override { return core_.get(); }

 private:
  std::optional<instance> own_;
  std::shared_ptr<detail::instance_core> core_;
};

/// What the templates of `delegating_executor` share.
class delegating_executor_base : public detail::graph_executor {
 public:
  void start(detail::graph_core& graph) override;
  void wait_for(const std::atomic<bool>& flag, detail::time_point until) override;
  bool cancel(task_id) override { return false; }
  void close() noexcept override;
  detail::instance_core* encodes_for() const noexcept override;

 protected:
  delegating_executor_base(instance&& own, detail::call_target runner);
  delegating_executor_base(instance& borrowed, detail::call_target runner);

 private:
  std::optional<instance> own_;
  std::shared_ptr<detail::instance_core> core_;
  detail::call_target runner_;
  std::atomic<task_id> id_{0};  ///< Of the task under way.
  std::shared_ptr<std::atomic<bool>> is_under_way_ = std::make_shared<std::atomic<bool>>(false);
};

/// Sends the whole graph away as one task, whose worker dispatches the nodes: this process's program
/// has nothing to do meanwhile, and of the results only those come back of which it still holds a
/// `sender` or a `future`. Nodes added after the start follow together, when those before have ended.
///
/// What it does not do: a node's result still goes to the worker that runs the graph and from there
/// to its successors, not from worker to worker. On this machine they pass through memory of this
/// process, which must stay alive, as workers end with it; on Lambda it is a function that invokes
/// functions, and its time limit (`Config`) is the whole graph's. If the worker that runs the graph
/// is lost, the graph is run again from its start, as often as `Config` has attempts. On Lambda each
/// node holds the shared values that it captures, all of which must fit into the one request.
///
/// `D` must be default constructible, as the worker makes one of its own.
template <class Config = lambda::config<>>
class delegating_executor final : public delegating_executor_base {
 public:
  /// On an instance of its own.
  template <dispatcher D>
  explicit delegating_executor(const D& on)
      : delegating_executor_base(on.create_instance(), runner_of<D>()) {}

  /// On an instance of that dispatcher that others use as well.
  template <dispatcher D>
  delegating_executor(const D&, instance& borrowed)
      : delegating_executor_base(borrowed, runner_of<D>()) {}

 private:
  template <class D>
  struct plan_runner {
    detail::plan_outcome operator()(detail::graph_plan plan) const {
      return detail::run_plan(std::move(plan), D().create_instance());
    }
  };
  template <class D>
  static detail::call_target runner_of() {
    static constexpr plan_runner<D> runner{};
    return detail::target_of<Config, detail::type_list<detail::graph_plan>>(runner);
  }
};

/// Runs nothing: says in which order and how wide a graph would run. For tests of programs that
/// build graphs. `builder<dry_run_executor> builder; ...; builder.executor().steps()`.
class dry_run_executor final : public detail::graph_executor {
 public:
  /// Names of the nodes (of the tasks, where they have none), those that could run at once together.
  const std::vector<std::vector<std::string>>& steps() const noexcept { return steps_; }

  /// Nodes of that name will fail, with kind `task_failed`.
  void fail(std::string name) { failing_.push_back(std::move(name)); }

  void start(detail::graph_core& graph) override;
  void wait_for(const std::atomic<bool>&, detail::time_point) override {}
  bool cancel(task_id) override { return false; }
  void close() noexcept override {}

 private:
  std::vector<std::vector<std::string>> steps_;
  std::vector<std::string> failing_;
};

/// Where nodes are added. Nothing runs before `start`, `await_all`, or a wait for a node's future.
///
/// Ownership: movable, not copyable. Destruction cancels what has not ended. A graph keeps some 250
/// bytes for each node until then.
/// Thread safety: nodes may be added by several threads, and by continuations of futures while the
/// graph runs: that is how the host adds nodes to a running graph (`expansion` is how nodes do).
template <class Executor = host_controlled_executor>
class builder {
 public:
  /// From whatever makes the executor: a dispatcher, or an instance.
  template <class... From>
    requires std::constructible_from<Executor, From...>
  explicit builder(From&&... from)
      : builder(std::make_unique<Executor>(std::forward<From>(from)...)) {}
  builder(builder&& other) noexcept = default;
  builder& operator=(builder&& other) noexcept {
    if (core_ != nullptr && core_ != other.core_) core_->close();
    core_ = std::move(other.core_);
    executor_ = other.executor_;
    return *this;
  }
  ~builder() {
    if (core_ != nullptr) core_->close();
  }

  /// Starts the nodes there are and returns.
  void start() { core_->start(); }

  /// Runs all nodes to their end. Then throws the error of the first that failed, in the order in
  /// which they were added; each failure once.
  void await_all() { core_->await_all(); }

  /// How many nodes there are: starts and gathers as well.
  std::size_t size() const { return core_->size(); }

  /// The graph as it is now, for `dot -Tsvg`: failed nodes are red, finished ones green.
  void write_graphviz(std::ostream& to) const { core_->write_graphviz(to); }

  Executor& executor() noexcept { return *executor_; }

  /// For the templates of this library.
  const std::shared_ptr<detail::graph_core>& core() const noexcept { return core_; }

 private:
  explicit builder(std::unique_ptr<Executor> made)
      : executor_(made.get()), core_(std::make_shared<detail::graph_core>(std::move(made))) {}

  Executor* executor_;
  std::shared_ptr<detail::graph_core> core_;
};

/// A graph that a node builds and returns, to be run in its place.
using fragment = builder<dry_run_executor>;

/// What a node returns to add nodes: the fragment to which `last` belongs. The node's value then is
/// that of `last`, and depends on all of the fragment that `last` depends on; the fragment runs
/// beside all other nodes, so nobody waits for it in a worker.
///
///     auto fib(int n) -> cppless::graph::expansion<long> {
///       cppless::graph::fragment part;
///       if (n < 2) return just(part, long{n});
///       auto left = then(just(part, n - 1), cppless::fn<&fib>);
///       auto right = then(just(part, n - 2), cppless::fn<&fib>);
///       return then(left, right, [](long a, long b) { return a + b; });
///     }
template <class T>
class expansion {
 public:
  explicit(false) expansion(const sender<T>& last)
      : plan_(detail::plan_of_result(*last.graph(), last.index())) {}

  expansion() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(plan_);
  }

 private:
  detail::graph_plan plan_;
};

/// A node that is there from the start, to depend on. (thesis 3.3)
template <class Executor>
sender<void> schedule(const builder<Executor>& in) {
  return {in.core(), in.core()->add({})};
}

/// A node of a value that is there already; encoded once, however many depend on it.
template <class Executor, class T>
sender<T> just(const builder<Executor>& in, const T& value) {
  detail::heap_sink encoded;
  detail::node_scope scope(*in.core());
  detail::encode(encoded, value);
  detail::graph_node made;
  made.shared = scope.things();
  made.kind = detail::node_kind::given;
  made.data = encoded.release();
  return {in.core(), in.core()->add(std::move(made))};
}

}  // namespace cppless::graph

namespace cppless::detail {

template <class T>
std::shared_ptr<graph_core> graph_of(const graph::sender<T>& from) {
  return from.graph();
}
template <class T, class A>
std::shared_ptr<graph_core> graph_of(const std::vector<graph::sender<T>, A>& from) {
  return from.empty() ? nullptr : from.front().graph();
}
template <class T>
std::shared_ptr<graph_core> graph_of(const future<T>&) {
  return nullptr;
}

/// Throws `rejected` for none, or for nodes of several graphs.
std::shared_ptr<graph_core> common_graph(
    std::initializer_list<std::shared_ptr<graph_core>> of_dependencies);

template <class T, class A>
graph_node gather_node(const std::shared_ptr<graph_core>& in,
                       const std::vector<graph::sender<T>, A>& from) {
  graph_node made;
  if constexpr (!std::is_void_v<T>) {
    made.kind = gathers_as_vector<T> ? node_kind::gather : node_kind::sized_gather;
  }
  made.inputs.reserve(from.size());
  for (const graph::sender<T>& each : from) {
    common_graph({in, each.graph()});
    made.inputs.push_back(each.index());
  }
  return made;
}

template <class T, class A>
auto gather(const std::shared_ptr<graph_core>& in, const std::vector<graph::sender<T>, A>& from) {
  if constexpr (std::is_void_v<T>) {
    return graph::sender<void>(in, in->add(gather_node(in, from)));
  } else if constexpr (gathers_as_vector<T>) {
    return graph::sender<std::vector<T>>(in, in->add(gather_node(in, from)));
  } else {
    const graph::sender<void> parts(in, in->add(gather_node(in, from)));
    graph_node made =
        task_node<lambda::config<>, type_list<std::vector<bytes>>>(*in, make_vector<T>());
    made.inputs = {parts.index()};
    return graph::sender<std::vector<T>>(in, in->add(std::move(made)));
  }
}

/// A dependency as one node.
template <class T>
const graph::sender<T>& as_node(const std::shared_ptr<graph_core>&, const graph::sender<T>& on) {
  return on;
}
template <class T, class A>
auto as_node(const std::shared_ptr<graph_core>& in,
             const std::vector<graph::sender<T>, A>& on) {
  return gather(in, on);
}
template <class T>
graph::sender<T> as_node(const std::shared_ptr<graph_core>& in, const future<T>& on) {
  const auto state = on.state();
  return {in, in->add_future(state, [from = state.get()](sink& encoded) {
            if constexpr (!std::is_void_v<T>) encode(encoded, *from->value);
          })};
}

/// `then` with its arguments apart.
template <class Config, class F, class... Dependencies>
auto add_task(const F& callable, const Dependencies&... on) {
  using arguments = arguments_of_values<typename dependency<Dependencies>::value...>;
  constexpr bool fits = accepts<F, arguments>;
  static_assert(fits,
                "this node's callable cannot be called with the results of the nodes it depends on, "
                "in their order (a node without a result gives no argument)");
  if constexpr (!fits) {
    return graph::sender<void>({}, no_node);
  } else {
    using returned = node_result<typename result_of<F, arguments>::type>;
    const std::shared_ptr<graph_core> in = common_graph({graph_of(on)...});
    graph_node made;
    if constexpr (is_sendable<F, arguments>) made = task_node<Config, arguments>(*in, callable);
    made.expands = returned::expands;
    const auto add = [&](const auto&... nodes) {
      made.inputs = {nodes.index()...};
      return graph::sender<typename returned::type>(in, in->add(std::move(made)));
    };
    return add(as_node(in, on)...);
  }
}

template <class Config, class Tuple, std::size_t... I>
auto add_task_of(Tuple arguments, std::index_sequence<I...>) {
  return add_task<Config>(std::get<sizeof...(I)>(arguments), std::get<I>(arguments)...);
}

}  // namespace cppless::detail

namespace cppless::graph {

/// A node of all results, in order (without a result, if they have none).
template <class T>
auto when_all(const std::vector<sender<T>>& nodes) {
  return detail::gather(detail::common_graph({detail::graph_of(nodes)}), nodes);
}

/// A node that calls `callable` elsewhere with the results of those it depends on, as arguments in
/// their order: `then(a, b, [](int a, int b) { ... })`. (thesis 3.3)
///
/// It may depend on nodes; on a `std::vector` of nodes, whose results arrive as a `std::vector`; and,
/// beside at least one node, on a `cppless::future`, which it takes over (`std::move`). What has no
/// result gives no argument. `callable` is what `dispatch` takes, and `Config` holds for this node
/// alone: `then<config>(a, ...)`. Its captures are encoded before this returns. If it returns an
/// `expansion<T>`, the node is that of a `T`.
/// Throws `rejected` for nodes of several graphs, `cancelled` if the graph is closed.
template <class Config = lambda::config<>, class First, class... Rest>
  requires(detail::dependency<std::remove_cvref_t<First>>::is_one && sizeof...(Rest) > 0)
auto then(First&& first, Rest&&... rest) {
  static_assert((!detail::is_named_future<Rest> && ...),
                "a future is given up to the graph: pass std::move(future)");
  return detail::add_task_of<Config>(std::forward_as_tuple(first, rest...),
                                     std::make_index_sequence<sizeof...(Rest)>());
}

}  // namespace cppless::graph

/// The same names under which the thesis's interface is known beside.
namespace cppless::execution {
using graph::just;
using graph::schedule;
using graph::then;
using graph::when_all;
}  // namespace cppless::execution
