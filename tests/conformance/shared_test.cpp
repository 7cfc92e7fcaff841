// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <atomic>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "under_test.hpp"

namespace {

// Counts in the process that decodes it.
struct counted {
  static inline std::atomic<int> decoded{0};

  std::vector<int> numbers;

  template <class Archive>
  void save(Archive& archive) const {
    archive(numbers);
  }
  template <class Archive>
  void load(Archive& archive) {
    ++decoded;
    archive(numbers);
  }
};

struct fussy {
  int value = 0;

  void save(auto& archive) const { archive(value); }
  void load(auto& archive) {
    archive(value);
    if (value == 13) throw std::runtime_error("not thirteen");
  }
};

long peak_kib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

int times_decoded() { return counted::decoded; }

}  // namespace

TEST_CASE("A shared value arrives whole, as a capture, as an argument and within other values") {
  auto instance = make_instance();
  const auto text = cppless::shared(std::string(100'000, 'x') + "end");
  CHECK(cppless::async(instance, [text] { return *text; }).get() == *text);
  CHECK(cppless::async(
            instance, [](cppless::shared_value<std::string> given) { return given->size(); }, text)
            .get() == 100'003);
  const std::map<std::string, std::vector<cppless::shared_value<std::string>>> nested{
      {"a", {text, text}}, {"b", {}}};
  CHECK(cppless::async(instance, [nested] { return nested.at("a").at(1)->substr(100'000); }).get() ==
        "end");
  CHECK(cppless::async(instance, [text] { return text; }).get()->size() == 100'003);
}

TEST_CASE("A shared value is decoded once in each worker, whatever the number of its tasks") {
  auto instance = make_instance();
  const auto shared = cppless::shared(counted{{1, 2, 3}});
  std::vector<int> items(300);
  const auto seen = cppless::map(instance, items, [shared](int) {
    return shared->numbers.size() == 3 ? times_decoded() : -1;
  });
  for (const int each : seen) CHECK(each == 1);
}

TEST_CASE("Equal values are one, different ones are kept apart") {
  auto instance = make_instance();
  for (int round = 0; round < 3; ++round) {
    std::vector<cppless::shared_value<std::vector<int>>> many;
    for (int i = 0; i < 40; ++i) many.push_back(cppless::shared(std::vector<int>(1000, i % 20)));
    std::vector<cppless::future<int>> all;
    for (const auto& each : many) {
      all.push_back(cppless::async(instance, [each] { return each->front() + each->back(); }));
    }
    many.clear();  // tasks keep what they need
    for (int i = 0; i < 40; ++i) CHECK(all[static_cast<std::size_t>(i)].get() == 2 * (i % 20));
  }
}

TEST_CASE("A task passes a shared value on to tasks of its own") {
  auto instance = make_instance();
  const auto numbers = cppless::shared(std::vector<int>{1, 2, 3});
  const auto outer = [numbers] {
    auto inner = cppless::async(cppless::default_instance(), [numbers] { return (*numbers)[2]; });
    return inner.get() + (*numbers)[0];
  };
  CHECK(cppless::async(instance, outer).get() == 4);
}

TEST_CASE_TEMPLATE("Nodes of a graph name a shared value, as tasks do", Executor,
                   cppless::graph::host_controlled_executor,
                   cppless::graph::delegating_executor<>) {
  const auto text = cppless::shared(std::string(scaled(4'000'000), 'x') + "end");
  const long before = peak_kib();
  cppless::graph::builder<Executor> builder{cppless::default_dispatcher()};
  const auto given = just(builder, text);
  std::vector<cppless::graph::sender<std::size_t>> all;
  const int count = is_remote() ? 4 : 200;
  for (int i = 0; i < count; ++i) {
    all.push_back(i % 2 == 0
                      ? then(schedule(builder), [text] { return text->size(); })
                      : then(given, [](const auto& same) { return same->size(); }));
  }
  builder.await_all();
  for (const auto& each : all) CHECK(each->future().get() == text->size());
  // Written into each node, they would take 800 MB.
  if (has_processes()) CHECK(peak_kib() - before < 400'000);
}

TEST_CASE_TEMPLATE("A shared value stays for the nodes that name it when the program has let go of it",
                   Executor, cppless::graph::host_controlled_executor,
                   cppless::graph::delegating_executor<>) {
  auto instance = make_instance();
  const auto executor = [&] {
    if constexpr (std::is_same_v<Executor, cppless::graph::delegating_executor<>>) {
      return cppless::graph::builder<Executor>{cppless::default_dispatcher(), instance};
    } else {
      return cppless::graph::builder<Executor>{instance};
    }
  };
  auto builder = executor();
  const auto text = [](int number) { return std::string(100'000, static_cast<char>('a' + number)); };
  std::vector<cppless::graph::sender<std::string>> all;
  for (int i = 0; i < 6; ++i) {
    const auto value = cppless::shared(text(i));
    all.push_back(i % 2 == 0 ? then(schedule(builder), [value] { return *value; })
                             : then(just(builder, value), [](const auto& same) { return *same; }));
  }
  // Whatever had been given back would be taken for these.
  for (int i = 6; i < 20; ++i) {
    cppless::async(instance, [value = cppless::shared(text(i))] { return value->size(); }).get();
  }
  builder.await_all();
  for (int i = 0; i < 6; ++i) CHECK(all[static_cast<std::size_t>(i)]->future().get() == text(i));
}

TEST_CASE("A shared value may have shared ownership and no default constructor inside") {
  auto instance = make_instance();
  const auto pointer = cppless::shared(std::make_shared<const std::string>("pointed to"));
  CHECK(cppless::async(instance, [pointer] { return **pointer; }).get() == "pointed to");
  const cppless::shared_value<int> nothing;
  CHECK_FALSE(cppless::async(instance, [nothing] { return bool(nothing); }).get());
}

TEST_CASE("A shared value that throws when it is decoded fails its task and no other") {
  auto instance = make_instance();
  const auto bad = cppless::shared(fussy{13});
  const auto good = cppless::shared(fussy{12});
  auto fails = cppless::async(instance, [bad] { return bad->value; });
  auto works = cppless::async(instance, [good] { return good->value; });
  CHECK(error_of([&] { fails.get(); }).says("not thirteen"));
  CHECK(works.get() == 12);
}
