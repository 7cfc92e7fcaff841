// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/graph/graph_core.hpp>
#include <cppless/future.hpp>
#include <cppless/task.hpp>

namespace cppless::graph {
template <class T>
class sender;
template <class T>
class expansion;
}  // namespace cppless::graph

namespace cppless::detail {

/// The future of a node.
template <class T>
class node_future final : public future_state<T>, public node_listener {
 public:
  node_future(std::shared_ptr<graph_core> graph, node_index node)
      : graph_(std::move(graph)), node_(node) {}

  bool wait_until(time_point until) override {
    if (this->is_ready()) return true;
    if (!graph_->wait(node_, until)) return false;
    while (!this->is_ready()) let_others_run();  // another thread decodes the value now
    return true;
  }
  bool cancel() override { return graph_->cancel(node_); }

  void succeed(source& result, const execution_statistics& took) override {
    this->statistics = took;
    if constexpr (std::is_void_v<T>) {
      this->value.emplace();
    } else if constexpr (is_serializable<T>) {
      this->value.emplace(decode<T>(result));
    }
    result.finish();
  }
  void fail(std::exception_ptr reason) noexcept override { this->error = std::move(reason); }
  void settled() noexcept override {
    this->set_ready();
    this->run_continuations();
  }

 private:
  std::shared_ptr<graph_core> graph_;
  node_index node_;
};

/// What a node may depend on, and the type in which it arrives as an argument (void: as none).
template <class Dependency>
struct dependency {
  static constexpr bool is_one = false;
};
template <class T>
struct dependency<graph::sender<T>> {
  static constexpr bool is_one = true;
  using value = T;
};
template <class T, class A>
struct dependency<std::vector<graph::sender<T>, A>> {
  static constexpr bool is_one = true;
  using value = std::conditional_t<std::is_void_v<T>, void, std::vector<stored_t<T>>>;
};
template <class T>
struct dependency<future<T>> {
  static constexpr bool is_one = true;
  using value = T;
};

template <class T>
inline constexpr bool is_named_future = false;
template <class T>
inline constexpr bool is_named_future<future<T>&> = true;

template <class... Lists>
struct concatenated;
template <class... T>
struct concatenated<type_list<T...>> {
  using type = type_list<T...>;
};
template <class... A, class... B, class... Rest>
struct concatenated<type_list<A...>, type_list<B...>, Rest...>
    : concatenated<type_list<A..., B...>, Rest...> {};

/// The argument types that dependencies of these value types make.
template <class... Values>
using arguments_of_values = typename concatenated<
    type_list<>, std::conditional_t<std::is_void_v<Values>, type_list<>, type_list<Values>>...>::type;

template <class F, class Arguments>
inline constexpr bool accepts = false;
template <class F, class... Args>
inline constexpr bool accepts<F, type_list<Args...>> =
    takes_rvalues<F, Args...> || takes_lvalues<F, Args...>;
template <class R, class... Params, class... Args>
inline constexpr bool accepts<task<R(Params...)>, type_list<Args...>> =
    std::is_same_v<type_list<std::decay_t<Params>...>, type_list<Args...>>;

/// What a callable's result is to those who depend on its node.
template <class Result>
struct node_result {
  using type = Result;
  static constexpr bool expands = false;
};
template <class T>
struct node_result<graph::expansion<T>> {
  using type = T;
  static constexpr bool expands = true;
};

/// A gather's values stand behind each other exactly as in an encoded vector of them.
/// Whether an encoded vector is its size and then its elements as each would be encoded alone. Users'
/// code and shared pointers need an archive for the whole, and bools are packed.
template <class T>
inline constexpr bool gathers_as_vector = shape_of<T>.direct && !std::is_same_v<T, bool>;

/// The task that makes a vector of values of other types.
template <class T>
struct make_vector {
  std::vector<T> operator()(const std::vector<bytes>& parts) const {
    std::vector<T> values;
    values.reserve(parts.size());
    for (const bytes& each : parts) {
      source from(each.data(), each.size());
      values.push_back(decode<T>(from));
      from.finish();
    }
    return values;
  }
};

template <class Config, class Parameters, class F>
graph_node task_node(const graph_core& in, const F& callable) {
  const call_target target = target_of<Config, Parameters>(callable);
  heap_sink state;
  node_scope scope(in);
  target.encode_state(state);
  graph_node made;
  made.shared = scope.things();
  made.kind = node_kind::task;
  made.what = target.what;
  made.data = state.release();
  return made;
}

}  // namespace cppless::detail
