// SPDX-License-Identifier: Apache-2.0
// Graphs on the dispatcher under test, by both executors.
#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/serialization.hpp>

#include "under_test.hpp"

using namespace std::chrono_literals;
namespace graph = cppless::graph;
namespace lambda = cppless::lambda;

namespace {

using once = lambda::config<lambda::with_attempts<1>>;

struct user_type {
  user_type() = default;
  explicit user_type(int of) : value(of) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
  int value = 0;
};

template <class T>
caught error_of_node(const graph::sender<T>& node) {
  auto future = node.future();
  return error_of([&] { future.get(); });
}

auto fibonacci(int n) -> graph::expansion<long> {
  graph::fragment part;
  if (n < 2) return just(part, long{n});
  auto left = then(just(part, n - 1), cppless::fn<&fibonacci>);
  auto right = then(just(part, n - 2), cppless::fn<&fibonacci>);
  return then(left, right, [](long a, long b) { return a + b; });
}

// Adds one node after another to the graph it is in.
auto countdown(int n) -> graph::expansion<int> {
  graph::fragment part;
  if (n == 0) return just(part, 0);
  return then(then(just(part, n - 1), cppless::fn<&countdown>), [](int below) { return below + 1; });
}

auto fails_inside(int) -> graph::expansion<int> {
  graph::fragment part;
  auto bad = then(schedule(part), []() -> int { throw std::domain_error("deep inside"); });
  bad->name("inner");
  return then(bad, [](int x) { return x; });
}

std::uint64_t mixed(const std::vector<std::uint64_t>& from) {
  std::uint64_t sum = 1;
  for (const std::uint64_t each : from) sum = sum * 31 + each;
  return sum;
}

}  // namespace

#define TEST_CASE_OF_BOTH(name) \
  TEST_CASE_TEMPLATE(name, Executor, graph::host_controlled_executor, graph::delegating_executor<>)

TEST_CASE_OF_BOTH("The thesis's graph gives 13") {
  cppless::default_dispatcher dispatcher;
  graph::builder<Executor> builder{dispatcher};
  auto a = schedule(builder);
  auto b = then(a, [] { return 12; });
  auto c = then(b, [](int m) { return m + 1; });
  auto f = c->future();
  builder.await_all();
  CHECK(f.ready());
  CHECK(f.value() == 13);
  CHECK(f.get() == 13);
}

TEST_CASE_OF_BOTH("Results arrive as arguments in the order of the dependencies") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  const std::string text(3000, 't');
  auto a = then(start, [] { return 4; });
  auto b = then(start, [text] { return text; });
  auto c = then(a, b, start, a, [](long n, const std::string& s, int again) {
    return std::to_string(n + again) + s;
  });
  auto nothing = then(c, [](const std::string&) {});
  auto last = then(nothing, c, [](const std::string& s) { return s.size(); });
  CHECK(last->future().get() == 3001);
}

TEST_CASE_OF_BOTH("A chain, a fan-out and a fan-in give what a loop gives") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  // Few, as each step of a chain costs several changes of process, which take long on a busy machine.
  const int count = scaled(200);
  auto at = just(builder, std::int64_t{0});
  for (int i = 0; i < count; ++i) at = then(at, [](std::int64_t x) { return 2 * x % 1009 + 1; });
  std::int64_t expected = 0;
  for (int i = 0; i < count; ++i) expected = 2 * expected % 1009 + 1;
  std::vector<graph::sender<std::int64_t>> wide;
  for (int i = 0; i < count; ++i) wide.push_back(then(at, [i](std::int64_t x) { return x + i; }));
  auto sum = then(wide, [](const std::vector<std::int64_t>& all) {
    return std::accumulate(all.begin(), all.end(), std::int64_t{0});
  });
  CHECK(sum->future().get() == count * expected + std::int64_t{count} * (count - 1) / 2);
  CHECK(at->future().get() == expected);
}

TEST_CASE_OF_BOTH("A random graph gives what is computed in place") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  std::minstd_rand random(7);
  const int count = scaled(400);
  std::vector<graph::sender<std::uint64_t>> nodes;
  std::vector<std::uint64_t> expected;
  for (int i = 0; i < count; ++i) {
    std::vector<graph::sender<std::uint64_t>> from;
    std::vector<std::uint64_t> values;
    for (unsigned n = i == 0 ? 0 : random() % 5; n > 0; --n) {
      const unsigned each = random() % i;
      from.push_back(nodes[each]);
      values.push_back(expected[each]);
    }
    nodes.push_back(then(schedule(builder), from, cppless::fn<&mixed>));
    expected.push_back(mixed(values));
  }
  builder.await_all();
  for (int i = 0; i < count; ++i) {
    auto future = nodes[i].future();
    CHECK(future.ready());
    REQUIRE(future.get() == expected[i]);
  }
}

TEST_CASE_OF_BOTH("Values of any type travel, alone and gathered") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  std::vector<graph::sender<bool>> flags;
  std::vector<graph::sender<user_type>> users;
  std::vector<graph::sender<std::shared_ptr<std::string>>> pointers;
  std::vector<graph::sender<void>> nothings;
  std::vector<graph::sender<std::map<int, std::string>>> none;
  for (int i = 0; i < 9; ++i) {
    flags.push_back(then(start, [i] { return i % 3 == 0; }));
    users.push_back(then(start, [i] { return user_type(i); }));
    pointers.push_back(then(start, [i] { return std::make_shared<std::string>(i, 'p'); }));
    nothings.push_back(then(start, [] {}));
  }
  auto last = then(flags, when_all(users), pointers, nothings, none,
                   [](std::vector<bool> f, const std::vector<user_type>& u,
                      std::vector<std::shared_ptr<std::string>> p,
                      std::vector<std::map<int, std::string>> m) {
                     int sum = static_cast<int>(m.size());
                     for (const bool each : f) sum += each ? 1000 : 0;
                     for (const user_type& each : u) sum += each.value;
                     for (const auto& each : p) sum += static_cast<int>(each->size());
                     return sum;
                   });
  CHECK(last->future().get() == 3000 + 36 + 36);
}

TEST_CASE_OF_BOTH("A node that throws fails by name, cancels what depends on it and nothing else") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  auto good = then(start, [] { return 1; });
  auto bad = then(start, good, [](int) -> int { throw std::out_of_range("no such row"); });
  bad->name("resize");
  auto after = then(good, bad, [](int a, int b) { return a + b; });
  auto later = then(after, [](int x) { return x; });
  auto beside = then(good, [](int x) { return x + 1; });
  const caught all = error_of([&] { builder.await_all(); });
  CHECK(all.kind == cppless::error_kind::task_failed);
  CHECK(all.remote_type == "std::out_of_range");
  CHECK(all.says("node \"resize\""));
  CHECK(all.says("no such row"));
  CHECK(error_of_node(bad).kind == cppless::error_kind::task_failed);
  CHECK(error_of_node(bad).id != 0);
  for (const auto& each : {after, later}) {
    const caught error = error_of_node(each);
    CHECK(error.kind == cppless::error_kind::cancelled);
    CHECK(error.says("because node \"resize\" failed"));
    CHECK(error.says("no such row"));
  }
  CHECK(beside->future().get() == 2);
  CHECK(good->future().get() == 1);
  builder.await_all();  // each failure is thrown once
  CHECK(error_of_node(then(later, [](int x) { return x; })).kind == cppless::error_kind::cancelled);
}

TEST_CASE_OF_BOTH("A node without a name goes by its number and its task") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto bad = then(schedule(builder), [] { throw 1; });
  const caught error = error_of([&] { builder.await_all(); });
  CHECK(error.says("node 1 (task "));
}

TEST_CASE_OF_BOTH("A node that takes too long times out, the others keep their results") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  auto late = then<lambda::config<lambda::with_timeout<1>>>(start, [] {
    std::this_thread::sleep_for(has_processes() ? std::chrono::hours(1) : std::chrono::hours(0) + 1100ms);
    return 1;
  });
  late->name("slow");
  auto after = then(late, [](int x) { return x; });
  auto beside = then(start, [] { return 5; });
  const caught error = error_of([&] { builder.await_all(); });
  CHECK(error.kind == cppless::error_kind::timeout);
  CHECK(error.says("node \"slow\""));
  CHECK(error_of_node(after).kind == cppless::error_kind::cancelled);
  CHECK(beside->future().get() == 5);
}

TEST_CASE_OF_BOTH("A node whose worker is killed is lost, the others keep their results") {
  if (!has_processes()) return;
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  std::vector<graph::sender<int>> beside;
  for (int i = 0; i < 20; ++i) beside.push_back(then(start, [i] { return i; }));
  auto gone = then<once>(start, [] { return ::kill(::getpid(), SIGKILL); });
  gone->name("victim");
  auto after = then(gone, [](int x) { return x; });
  const caught error = error_of([&] { builder.await_all(); });
  CHECK(error.kind == cppless::error_kind::lost);
  CHECK(error.says("node \"victim\""));
  CHECK(error_of_node(after).says("because node \"victim\" failed"));
  for (int i = 0; i < 20; ++i) CHECK(beside[i].future().get() == i);
}

TEST_CASE_OF_BOTH("A node too large to be sent is rejected by name") {
  if (!is_remote()) return;
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  auto large = then(start, [] { return std::string(3'500'000, 'x'); });
  auto both = then(large, large, [](const std::string& a, const std::string& b) {
    return a.size() + b.size();
  });
  both->name("both");
  const caught error = error_of([&] { builder.await_all(); });
  CHECK(error.kind == cppless::error_kind::rejected);
  CHECK(error.says("node \"both\""));
}

TEST_CASE_OF_BOTH("A node may add nodes, and those may again") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto f = then(just(builder, 9), cppless::fn<&fibonacci>);
  auto c = then(just(builder, 50), cppless::fn<&countdown>);
  auto both = then(f, c, [](long a, int b) { return a + b; });
  CHECK(both->future().get() == 34 + 50);
  builder.await_all();
}

TEST_CASE_OF_BOTH("A node fails as the nodes that it added do") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto outer = then(just(builder, 1), cppless::fn<&fails_inside>);
  outer->name("outer");
  auto after = then(outer, [](int x) { return x; });
  CHECK(error_of_node(outer).says("node \"outer\": node \"outer/inner\": "));
  CHECK(error_of_node(outer).says("deep inside"));
  CHECK(error_of_node(outer).kind == cppless::error_kind::task_failed);
  CHECK(error_of_node(after).says("because node \"outer\" failed"));
}

TEST_CASE_OF_BOTH("Nodes may be added after others have run, and depend on them") {
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto a = then(schedule(builder), [] { return 20; });
  builder.await_all();
  auto b = then(a, [](int x) { return x + 1; });
  auto c = then(a, b, [](int x, int y) { return x + y; });
  builder.await_all();
  CHECK(c->future().get() == 41);
  builder.await_all();
}

TEST_CASE_OF_BOTH("Futures of any instance are dependencies, and their errors are the node's") {
  auto other = make_instance();
  graph::builder<Executor> builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  auto sum = then(start, cppless::async(other, [] { return 30; }),
                  cppless::async(other, [] { return std::string("!"); }),
                  [](int x, const std::string& s) { return std::to_string(x) + s; });
  auto waits = then(sum, cppless::async(other, [] {}), [](const std::string& s) { return s; });
  auto bad = then(start, cppless::async(other, []() -> int { throw std::range_error("outside"); }),
                  [](int x) { return x; });
  auto early = cppless::async(other, [] { return 8; });
  early.wait();
  auto of_ready = then(start, std::move(early), [](int x) { return x + 1; });
  CHECK(of_ready->future().get() == 9);
  CHECK(waits->future().get() == "30!");
  const caught error = error_of_node(bad);
  CHECK(error.kind == cppless::error_kind::cancelled);
  CHECK(error.says("outside"));
}

TEST_CASE("A graph of its own instance and others share workers") {
  auto workers = make_instance();
  graph::builder builder{workers};
  auto a = then(schedule(builder), [] { return 1; });
  auto f = cppless::async(workers, [] { return 2; });
  CHECK(a->future().get() + f.get() == 3);
  {
    graph::builder other{workers};
    (void)then(schedule(other), [] { std::this_thread::sleep_for(0s); });
    other.start();
  }
  CHECK(cppless::async(workers, [] { return 4; }).get() == 4);
}

TEST_CASE("Continuations of nodes' futures may add nodes to the running graph") {
  graph::builder builder{cppless::default_dispatcher()};
  std::vector<cppless::future<int>> results;
  auto first = then(schedule(builder), [] { return 3; });
  auto done = first->future().then([&](int n) {
    for (int i = 0; i < n; ++i) {
      results.push_back(then(schedule(builder), [i] { return i; })->future());
    }
  });
  builder.await_all();
  REQUIRE(done.ready());
  REQUIRE(results.size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(results[i].get() == i);
}

TEST_CASE("A started graph goes on while nobody waits") {
  if (!runs_by_itself()) return;
  graph::builder builder{cppless::default_dispatcher()};
  auto at = just(builder, 0);
  for (int i = 0; i < 5; ++i) at = then(at, [](int x) { return x + 1; });
  auto future = at->future();
  builder.start();
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!future.ready() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  CHECK(future.ready());
  CHECK(future.get() == 5);
}

TEST_CASE_OF_BOTH("A graph that is given up cancels what has not ended") {
  std::optional<cppless::future<int>> running, waiting, done, never;
  {
    graph::builder<Executor> builder{cppless::default_dispatcher()};
    auto start = schedule(builder);
    auto a = then(start, [] { return 1; });
    done = a->future();
    builder.await_all();
    auto b = then(a, [](int) {
      if (runs_by_itself()) run_for_ever();
      return 1;
    });
    running = b->future();
    waiting = then(b, [](int x) { return x; })->future();
    builder.start();
    never = then(a, [](int x) { return x; })->future();
  }
  CHECK(done->get() == 1);
  for (auto* each : {&running, &waiting, &never}) {
    CHECK((*each)->ready());
    CHECK(error_of([&] { (*each)->get(); }).kind == cppless::error_kind::cancelled);
  }
}

TEST_CASE("Cancelling a node's future ends it and what depends on it") {
  graph::builder builder{cppless::default_dispatcher()};
  auto start = schedule(builder);
  auto a = then(start, [] {
    if (runs_by_itself()) run_for_ever();
    return 1;
  });
  auto b = then(a, [](int x) { return x; });
  auto c = then(start, [] { return 3; });
  auto future_of_a = a->future(), future_of_b = b->future();
  builder.start();
  CHECK(future_of_a.cancel());
  CHECK(error_of([&] { builder.await_all(); }).kind == cppless::error_kind::cancelled);
  CHECK(error_of([&] { future_of_a.get(); }).kind == cppless::error_kind::cancelled);
  CHECK(error_of([&] { future_of_b.get(); }).kind == cppless::error_kind::cancelled);
  CHECK(c->future().get() == 3);
}

TEST_CASE("A task may run a graph of its own") {
  auto workers = make_instance();
  auto future = cppless::async(workers, [] {
    graph::builder builder{cppless::default_dispatcher()};
    auto start = schedule(builder);
    auto a = then(start, [] { return 2; });
    auto b = then(start, [] { return 3; });
    return then(a, b, [](int x, int y) { return x * y; })->future().get();
  });
  CHECK(future.get() == 6);
}

TEST_CASE("Several threads may wait for one graph") {
  graph::builder builder{cppless::default_dispatcher()};
  std::vector<cppless::future<int>> futures;
  auto at = just(builder, 0);
  for (int i = 0; i < scaled(200); ++i) {
    at = then(at, [](int x) { return x + 1; });
    futures.push_back(at->future());
  }
  {
    std::vector<std::jthread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < futures.size(); i += 4) {
          wrong += futures[i].get() == static_cast<int>(i) + 1 ? 0 : 1;
        }
      });
    }
    threads.clear();
    CHECK(wrong == 0);
  }
}

TEST_CASE("A chain of many nodes overflows no stack, whether it runs, fails or is given up") {
  const int count = is_sanitized || is_remote() ? 5000 : 100'000;
  for (const bool fails : {false, true}) {
    graph::builder builder{cppless::default_dispatcher()};
    auto at = then(schedule(builder), [fails] {
      if (fails) throw std::runtime_error("at the first");
      return 0;
    });
    const int length = fails || !has_processes() ? count : scaled(1000);
    for (int i = 0; i < length; ++i) at = then(at, [](int x) { return x + 1; });
    auto last = at->future();
    if (fails) {
      CHECK(error_of([&] { last.get(); }).says("at the first"));
    } else {
      CHECK(last.get() == length);
    }
  }
  graph::builder builder{cppless::default_dispatcher()};
  auto at = just(builder, 0);
  for (int i = 0; i < count; ++i) at = then(at, [](int x) { return x + 1; });
}
