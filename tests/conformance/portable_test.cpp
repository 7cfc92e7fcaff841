// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <list>
#include <numeric>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "under_test.hpp"

// What works with every compiler, plugin or not: nothing here captures.

namespace {

int twice(int x) { return 2 * x; }
int sum(const std::vector<int>& list, int more) noexcept {
  for (const int each : list) more += each;
  return more;
}
void nothing() {}
void ignore(int) {}
int count_up(int) {
  static int calls = 0;
  return ++calls;
}
void die() { std::abort(); }
int sum_of_twice(int count) {
  auto instance = make_instance();
  int total = 0;
  for (const int each : cppless::map(instance, std::views::iota(0, count), cppless::fn<&twice>)) {
    total += each;
  }
  return total;
}

struct polynomial {
  std::vector<double> coefficients;
  double operator()(double x) const {
    double value = 0;
    for (const double each : coefficients) value = value * x + each;
    return value;
  }
};

struct overloaded {
  std::string prefix;
  std::string operator()(int x) const { return prefix + "int " + std::to_string(x); }
  std::string operator()(const std::string& x) const { return prefix + "string " + x; }
};

struct stateless {
  int operator()(int x) const { return x - 1; }
};

}  // namespace

TEST_CASE("Generic lambdas are called with the types of the given arguments") {
  auto instance = make_instance();
  auto generic = [](auto a, auto b) { return a + b; };
  CHECK(cppless::async(instance, generic, 1, 2).get() == 3);
  CHECK(cppless::async(instance, generic, std::string("a"), std::string("b")).get() == "ab");
  CHECK(cppless::async(instance, generic, 0.5, 1).get() == 1.5);
  int result = 0;
  cppless::dispatch(instance, [](auto x) { return 2 * x; }, result, std::tuple{21});
  cppless::wait(instance, 1);
  CHECK(result == 42);
}

TEST_CASE("Function objects and overloaded ones are sent with their state") {
  auto instance = make_instance();
  CHECK(cppless::async(instance, polynomial{{1, 2, 3}}, 2.0).get() == 11);
  CHECK(cppless::async(instance, overloaded{"> "}, 4).get() == "> int 4");
  CHECK(cppless::async(instance, overloaded{"> "}, std::string("x")).get() == "> string x");
  CHECK(cppless::async(instance, stateless{}, 4).get() == 3);
  double result = 0;
  cppless::dispatch(instance, polynomial{{4, 0}}, result, {2.0});
  cppless::wait(instance, 1);
  CHECK(result == 8);
}

TEST_CASE("Functions are sent by name") {
  auto instance = make_instance();
  CHECK(cppless::async(instance, cppless::fn<&twice>, 4).get() == 8);
  int result = 0;
  cppless::dispatch(instance, cppless::fn<&sum>, result, {{1, 2, 3}, 4});
  cppless::dispatch(instance, cppless::fn<&nothing>);
  cppless::wait(instance, 2);
  CHECK(result == 10);
  CHECK(cppless::map(instance, std::vector{1, 2, 3}, cppless::fn<twice>) == std::vector{2, 4, 6});
}

TEST_CASE("bind sends a lambda with its first arguments") {
  auto instance = make_instance();
  auto scale = cppless::bind([](int n, int x) { return n * x; }, 3);
  CHECK(cppless::async(instance, scale, 4).get() == 12);
  auto all = cppless::bind(
      [](const std::string& a, const std::vector<int>& b) { return a.size() + b.size(); },
      std::string("abc"), std::vector<int>(4));
  CHECK(cppless::async(instance, all).get() == 7);
  CHECK(cppless::map(instance, std::views::iota(0, 4), scale) == std::vector{0, 3, 6, 9});
}

TEST_CASE("map returns results in the order of the range's elements") {
  auto instance = make_instance();
  std::vector<int> numbers(500);
  for (int i = 0; i < 500; ++i) numbers[i] = 500 - i;
  const auto squares = cppless::map(instance, numbers, [](int x) { return std::int64_t{x} * x; });
  REQUIRE(squares.size() == 500);
  for (int i = 0; i < 500; ++i) CHECK(squares[i] == std::int64_t{500 - i} * (500 - i));
}

TEST_CASE("map takes any input range and converts its elements") {
  auto instance = make_instance();
  const std::list<std::string> words{"a", "bb", "", "dddd"};
  CHECK(cppless::map(instance, words, [](const std::string& w) { return w.size(); }) ==
        std::vector<std::size_t>{1, 2, 0, 4});
  auto even = std::views::iota(0, 10) | std::views::filter([](int x) { return x % 2 == 0; });
  CHECK(cppless::map(instance, even, [](double x) { return x / 2; }) ==
        std::vector<double>{0, 1, 2, 3, 4});
  const std::set<char> letters{'x', 'y'};
  CHECK(cppless::map(instance, letters, [](auto c) { return std::string(2, c); }) ==
        std::vector<std::string>{"xx", "yy"});
  CHECK(cppless::map(instance, std::vector<int>{}, [](int x) { return x; }).empty());
  const std::vector<bool> bits{true, false};
  CHECK(cppless::map(instance, bits, [](bool b) { return !b; }) == std::vector<bool>{false, true});
}

TEST_CASE("map starts those that take longest first, and returns results in the elements' order") {
  auto instance = make_instance();
  const std::vector<int> numbers{3, 9, 1, 9, 5};
  const auto itself = cppless::longest_first([](int x) { return x; });
  CHECK(cppless::map(instance, numbers, cppless::fn<&twice>, itself) ==
        std::vector{6, 18, 2, 18, 10});
  cppless::map(instance, numbers, cppless::fn<&ignore>, itself);
  if (!has_processes() || is_remote()) return;
  // One worker runs them in the order in which they were started.
  auto alone = cppless::local_dispatcher({.workers = 1}).create_instance();
  CHECK(cppless::map(alone, numbers, cppless::fn<&count_up>, itself) == std::vector{4, 1, 5, 2, 3});
}

TEST_CASE("map in chunks gives each element's result in its place, with few tasks") {
  auto instance = make_instance();
  const std::list<int> none;
  CHECK(cppless::map(instance, none, cppless::fn<&twice>, cppless::guided()).empty());
  std::vector<int> numbers(10'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto before = cppless::async(instance, cppless::fn<&twice>, 0);
  before.wait();
  const auto results = cppless::map(instance, numbers, [](long x) { return std::to_string(x); },
                                    cppless::guided{.workers = 2});
  const auto after = cppless::async(instance, cppless::fn<&twice>, 0);
  after.wait();
  REQUIRE(results.size() == numbers.size());
  for (int i = 0; i < 10'000; ++i) CHECK(results[i] == std::to_string(i));
  const auto tasks = after.statistics().id - before.statistics().id - 1;
  CHECK(tasks > 10);
  CHECK(tasks < 60);
}

TEST_CASE("map in chunks calls function objects with their state, and elements of any kind") {
  auto instance = make_instance();
  CHECK(cppless::map(instance, std::vector{1.0, 2.0}, polynomial{{1, 2, 3}}, cppless::guided()) ==
        std::vector{6.0, 11.0});
  CHECK(cppless::map(instance, std::vector<bool>{true, false}, [](bool b) { return !b; },
                     cppless::guided()) == std::vector<bool>{false, true});
  const auto scale = cppless::bind([](int n, int x) { return n * x; }, 3);
  CHECK(cppless::map(instance, std::views::iota(0, 4), scale, cppless::guided()) ==
        std::vector{0, 3, 6, 9});
  cppless::map(instance, std::vector{1, 2, 3}, cppless::fn<&ignore>, cppless::guided());
}

TEST_CASE("map in chunks throws the first element's error, and runs all others") {
  auto instance = make_instance();
  const cppless::shared_variable<int, cppless::merge::sum> calls(0);
  const auto work = cppless::bind(
      [](const cppless::shared_variable<int, cppless::merge::sum>& count, int x) {
        count.update(1);
        if (x % 5 == 2) throw std::runtime_error("element " + std::to_string(x));
        return x;
      },
      calls);
  const caught error = error_of([&] {
    cppless::map(instance, std::views::iota(0, 20), work, cppless::guided(),
                 cppless::longest_first([](int x) { return x; }));
  });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.remote_type == "std::runtime_error");
  CHECK(error.says("element 2"));
  CHECK(error.id != 0);
  CHECK(calls.get() == 16);  // what an element that throws did to it does not count
}

TEST_CASE("A chunk whose worker dies is lost as a whole, and the other chunks are not") {
  if (!has_processes()) return;
  auto instance = make_instance();
  using once = cppless::lambda::config<cppless::lambda::with_attempts<1>>;
  const cppless::shared_variable<int, cppless::merge::sum> calls(0);
  const auto work = cppless::bind(
      [](const cppless::shared_variable<int, cppless::merge::sum>& count, int x) {
        count.update(1);
        if (x == 9) std::abort();
      },
      calls);
  const caught error = error_of([&] {  // chunks of 8, 4, 2, 1 and 1 elements
    cppless::map<once>(instance, std::views::iota(0, 16), work, cppless::guided{.workers = 1});
  });
  CHECK(error.kind == cppless::error_kind::lost);
  CHECK(calls.get() == 12);
}

TEST_CASE("map splits elements that would take too long, and joins what their parts return") {
  auto instance = make_instance();
  static std::vector<int> asked;
  asked.clear();
  const auto halves = [](int x, std::size_t count) {
    asked.push_back(x);
    CHECK(count >= 2);
    return x % 2 != 0 ? std::vector<int>() : std::vector<int>{x / 2, x / 2};
  };
  const auto add_up = [](const std::vector<int>& parts) { return parts.at(0) + parts.at(1); };
  const cppless::split in_halves(halves, add_up);
  const std::vector<int> numbers{2, 1001, 4000, 6, 3000, 3001};
  const std::vector<int> doubled{4, 2002, 8000, 12, 6000, 6002};
  const auto itself = cppless::longest_first([](int x) { return x; });
  CHECK(cppless::map(instance, numbers, cppless::fn<&twice>, in_halves, itself) == doubled);
  if (worker_count() == 2) CHECK(asked == std::vector{1001, 4000, 3000, 3001});
  CHECK(cppless::map(instance, numbers, cppless::fn<&twice>, itself, cppless::guided(),
                     in_halves) == doubled);
  if (worker_count() > 1) {
    asked.clear();
    CHECK(cppless::map(instance, numbers, cppless::fn<&twice>, in_halves) == doubled);
    CHECK(asked == numbers);
  }
  cppless::map(instance, numbers, cppless::fn<&ignore>, itself, cppless::split(halves));
}

TEST_CASE("An element that was split fails with the error of its first part that does") {
  auto instance = make_instance();
  const cppless::split apart([](int, std::size_t) { return std::vector<int>{7, -1, -2}; },
                             [](const std::vector<int>& all) { return static_cast<int>(all.size()); });
  const auto itself = cppless::longest_first([](int x) { return x; });
  const auto positive = [](int x) {
    if (x < 0) throw std::range_error("part " + std::to_string(x));
    return x;
  };
  const caught error = error_of([&] {
    cppless::map(instance, std::vector{1, 100000}, positive, apart, itself);
  });
  CHECK(error.says("part -1"));
}

TEST_CASE("map of a task without result waits for all of them") {
  auto instance = make_instance();
  cppless::map(instance, std::vector{1, 2, 3}, [](int) {});
  using config = cppless::lambda::config<cppless::lambda::with_attempts<1>>;
  CHECK(cppless::map<config>(instance, std::vector{1}, [](int x) { return x; }) == std::vector{1});
}

TEST_CASE("map throws the first failed element's error once all have ended") {
  auto instance = make_instance();
  const caught error = error_of([&] {
    cppless::map(instance, std::views::iota(0, 20), [](int x) {
      if (x == 7 || x == 13) throw std::runtime_error("element " + std::to_string(x));
      return x;
    });
  });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.says("element 7"));
}

TEST_CASE("An exception in a task without captures arrives with its type and text") {
  auto instance = make_instance();
  const caught error = error_of([&] {
    cppless::async(instance, [](int x) -> int { throw std::out_of_range(std::to_string(x)); }, 7)
        .get();
  });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.remote_type == "std::out_of_range");
  CHECK(error.says("7"));
}

TEST_CASE("A worker that dies under a function is replaced and the others keep their results") {
  if (!has_processes()) return;
  auto instance = make_instance();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 20; ++i) futures.push_back(cppless::async(instance, cppless::fn<&twice>, i));
  auto lost = cppless::async(instance, cppless::fn<&die>);
  CHECK(error_of([&] { lost.get(); }).kind == cppless::error_kind::lost);
  for (int i = 0; i < 20; ++i) CHECK(futures[i].get() == 2 * i);
}

TEST_CASE("A function that takes longer than its configuration allows reports a timeout") {
  if (!runs_by_itself()) return;
  using config = cppless::lambda::config<cppless::lambda::with_timeout<1>>;
  auto instance = make_instance();
  const auto sleep = [] { run_for_ever(); };
  auto slow = cppless::async<config>(instance, sleep);
  CHECK(error_of([&] { slow.get(); }).kind == cppless::error_kind::timeout);
}

TEST_CASE("A function dispatches tasks of its own") {
  auto instance = make_instance();
  CHECK(cppless::async(instance, cppless::fn<&sum_of_twice>, 10).get() == 90);
}

TEST_CASE("Large arguments and results of functions come back unchanged") {
  auto instance = make_instance();
  std::vector<int> numbers(1 << 20);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 7);
  auto same = cppless::async(instance, [](std::vector<int> given) { return given; }, numbers);
  CHECK(same.get() == numbers);
}

TEST_CASE_TEMPLATE("Functions are nodes of graphs", Executor, cppless::graph::host_controlled_executor,
                   cppless::graph::delegating_executor<>) {
  cppless::graph::builder<Executor> builder{cppless::default_dispatcher()};
  std::vector<cppless::graph::sender<int>> all;
  for (int i = 0; i < 10; ++i) all.push_back(then(just(builder, i), cppless::fn<&twice>));
  auto total = then(all, all.front(), cppless::fn<&sum>);
  auto bad = then(total, [](int) -> int { throw std::range_error("no number"); });
  CHECK(total->future().get() == 90);
  CHECK(error_of([&] { bad->future().get(); }).says("no number"));
}
