// SPDX-License-Identifier: Apache-2.0
// What no dispatcher is needed for; tests/conformance/graph_test.cpp runs graphs on each of them.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include <cppless/dispatchers.hpp>
#include <cppless/function.hpp>
#include <cppless/graph.hpp>

namespace graph = cppless::graph;

namespace {

using steps = std::vector<std::vector<std::string>>;

int add(int a, int b) { return a + b; }
auto nothing_more(int n) -> graph::expansion<int> {
  graph::fragment part;
  return just(part, n);
}

// A diamond with names.
template <class Builder>
auto diamond(Builder& builder) {
  auto top = then(schedule(builder), [] { return 1; });
  auto left = then(top, [](int x) { return x + 1; });
  auto right = then(top, [](int x) { return x + 2; });
  auto bottom = then(left, right, cppless::fn<&add>);
  top->name("top"), left->name("left"), right->name("right"), bottom->name("bottom");
  return bottom;
}

template <class F>
std::string what_of(F action) {
  try {
    action();
  } catch (const cppless::error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A dry run says what would run, and what at once") {
  graph::builder<graph::dry_run_executor> builder;
  auto bottom = diamond(builder);
  builder.await_all();
  CHECK(builder.executor().steps() == steps{{"top"}, {"left", "right"}, {"bottom"}});
}

TEST_CASE("In a dry run nodes fail as they are told to, and cancel what depends on them") {
  graph::builder<graph::dry_run_executor> builder;
  auto bottom = diamond(builder);
  builder.executor().fail("left");
  const std::string error = what_of([&] { builder.await_all(); });
  CHECK(contains(error, "task_failed: node \"left\""));
  CHECK(builder.executor().steps() == steps{{"top"}, {"left", "right"}});
  auto future = bottom->future();
  CHECK(contains(what_of([&] { future.get(); }), "cancelled: node \"bottom\" was cancelled because"));
}

TEST_CASE("A drawing has the nodes, their names and their edges") {
  graph::builder<graph::dry_run_executor> builder;
  auto bottom = diamond(builder);
  bottom->name("the \"bottom\"");
  std::ostringstream before, after;
  builder.write_graphviz(before);
  CHECK(contains(before.str(), "digraph"));
  CHECK(contains(before.str(), "n4 [label=\"the \\\"bottom\\\"\", shape=box, fillcolor=white]"));
  for (const char* edge : {"n0 -> n1;", "n1 -> n2;", "n1 -> n3;", "n2 -> n4;", "n3 -> n4;"}) {
    CHECK(contains(before.str(), edge));
  }
  builder.executor().fail("right");
  CHECK_THROWS_AS(builder.await_all(), cppless::task_failed);
  builder.write_graphviz(after);
  CHECK(contains(after.str(), "n2 [label=\"left\", shape=box, fillcolor=palegreen]"));
  CHECK(contains(after.str(), "n3 [label=\"right\", shape=box, fillcolor=lightcoral]"));
  CHECK(contains(after.str(), "shape=box, fillcolor=lightgray]"));
  CHECK(contains(after.str(), "n3 -> n4;"));
}

TEST_CASE("Nodes of two graphs cannot be mixed, and a node needs at least one") {
  graph::builder<graph::dry_run_executor> one, two;
  auto a = then(schedule(one), [] { return 1; });
  auto b = then(schedule(two), [] { return 1; });
  CHECK(contains(what_of([&] { then(a, b, cppless::fn<&add>); }), "rejected: a node cannot depend on"));
  const std::vector<graph::sender<int>> mixed{a, b}, none;
  CHECK(contains(what_of([&] { when_all(mixed); }), "rejected: a node cannot depend on"));
  CHECK(contains(what_of([&] { when_all(none); }), "rejected: a node must depend on at least one"));
}

TEST_CASE("The first failure, in the order of the nodes, is thrown, and each once") {
  graph::builder<graph::dry_run_executor> builder;
  auto start = schedule(builder);
  for (const char* name : {"a", "b", "c"}) {
    then(start, [] {})->name(name);
    if (*name != 'a') builder.executor().fail(name);
  }
  CHECK(contains(what_of([&] { builder.await_all(); }), "node \"b\""));
  builder.await_all();
  auto d = then(start, [] {});
  d->name("b");
  CHECK(contains(what_of([&] { builder.await_all(); }), "node \"b\""));
}

TEST_CASE("A moved builder is the same graph, and one that is assigned to gives its own up") {
  graph::builder builder{cppless::inline_dispatcher()};
  auto f = then(schedule(builder), [] { return 7; })->future();
  graph::builder other = std::move(builder);
  CHECK(f.get() == 7);
  auto never = then(schedule(other), [] { return 7; })->future();
  other = graph::builder{cppless::inline_dispatcher()};
  CHECK(contains(what_of([&] { never.get(); }), "cancelled: node 3 "));
  other.await_all();
}

TEST_CASE("A result is kept for a handle and decoded for each future") {
  graph::builder builder{cppless::inline_dispatcher()};
  auto a = then(schedule(builder), [] { return std::string("kept"); });
  auto early = a->future(), second = a->future();
  builder.await_all();
  CHECK(early.get() == "kept");
  CHECK(second.value() == "kept");
  CHECK(a->future().get() == "kept");
  CHECK(then(a, [](std::string s) { return s.size(); })->future().get() == 4);
}

TEST_CASE("A result that nobody can ask for any more is given up") {
  graph::builder builder{cppless::inline_dispatcher()};
  auto last = [&] {
    auto a = then(schedule(builder), [] { return std::string(100, 'a'); });
    return then(a, [](const std::string& s) { return s; });
  }();
  builder.await_all();
  const auto lock = builder.core()->lock();
  CHECK(builder.core()->at(1).result.empty());
  CHECK(builder.core()->at(2).result.size() == 108);
}

TEST_CASE("A future that is got, whose value is asked for, or whose error was thrown, is used up") {
  graph::builder builder{cppless::inline_dispatcher()};
  auto bad = then(schedule(builder), []() -> int { throw std::runtime_error("no"); })->future();
  CHECK(contains(what_of([&] { bad.value(); }), "no"));
  CHECK_FALSE(bad.valid());
}

TEST_CASE("A node that returns a malformed graph is rejected by name") {
  using cppless::detail::graph_plan;
  const auto refused = [](graph_plan plan) {
    graph::builder<graph::dry_run_executor> builder;
    auto node = then(schedule(builder), [] {});
    return what_of([&] {
      const auto lock = builder.core()->lock();
      append_plan(*builder.core(), std::move(plan));
    });
  };
  graph_plan plan;
  CHECK(contains(refused(plan), "rejected: malformed graph: result node 0 of 0"));
  plan.nodes.resize(2);
  plan.nodes[1].inputs = {1};
  CHECK(contains(refused(plan), "rejected: malformed graph: input 1 of 1"));
  plan.nodes[1].inputs = {0};
  plan.nodes[0].kind = cppless::detail::node_kind::task;
  CHECK(contains(refused(plan), "rejected: malformed graph: task 0 of 0"));
  plan.nodes[0].kind = static_cast<cppless::detail::node_kind>(9);
  CHECK(contains(refused(plan), "rejected: malformed graph: node kind 9 of 4"));
}

TEST_CASE("A node may return a graph of a value alone") {
  graph::builder builder{cppless::inline_dispatcher()};
  auto node = then(just(builder, 5), cppless::fn<&nothing_more>);
  CHECK(then(node, [](int x) { return x + 1; })->future().get() == 6);
}

TEST_CASE("A hundred thousand nodes overflow no stack") {
  const int count = 100'000;
  graph::builder builder{cppless::inline_dispatcher()};
  auto at = just(builder, 0);
  for (int i = 0; i < count; ++i) at = then(at, [](int x) { return x + 1; });
  CHECK(at->future().get() == count);
  std::vector<graph::sender<void>> voids{schedule(builder)};
  for (int i = 0; i < count; ++i) voids = {when_all(voids)};
  CHECK(then(voids, [] { return 1; })->future().get() == 1);
  auto bad = then(at, [](int) -> int { throw 1; });
  for (int i = 0; i < count; ++i) bad = then(bad, [](int x) { return x; });
  CHECK_THROWS_AS(bad->future().get(), cppless::cancelled);
  auto never = at;
  for (int i = 0; i < count; ++i) never = then(never, [](int x) { return x; });
}
