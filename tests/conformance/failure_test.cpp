// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "under_test.hpp"

namespace {

struct odd_error {
  int code;
};

class custom_error : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

struct explosive {
  std::vector<int> data = std::vector<int>(50'000, 1);
  bool explodes = true;
  template <class Archive>
  void save(Archive& archive) const {
    archive(data);
    if (explodes) throw std::runtime_error("cannot be saved");
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(data);
  }
};

template <class F>
caught failure_of(cppless::instance& instance, F task) {
  auto future = cppless::async(instance, task);
  return error_of([&] { future.get(); });
}

}  // namespace

TEST_CASE("Exceptions arrive with type and what(), whatever they are") {
  auto instance = make_instance();
  const caught standard = failure_of(instance, [] { std::vector<int>().at(3); });
  CAPTURE(standard.what);
  CHECK(standard.kind == cppless::error_kind::task_failed);
  CHECK(standard.remote_type == "std::out_of_range");
  CHECK(standard.says("vector"));

  const caught custom = failure_of(instance, [] { throw custom_error("mine"); });
  CHECK(custom.remote_type.find("custom_error") != std::string::npos);
  CHECK(custom.says("mine"));

  const caught number = failure_of(instance, [] { throw 42; });
  CHECK(number.kind == cppless::error_kind::task_failed);
  CHECK(number.remote_type == "int");

  const caught odd = failure_of(instance, [] { throw odd_error{3}; });
  CHECK(odd.remote_type.find("odd_error") != std::string::npos);

  const caught empty = failure_of(instance, [] { throw std::runtime_error(""); });
  CHECK(empty.remote_type == "std::runtime_error");

  const caught memory = failure_of(instance, [] { throw std::bad_alloc(); });
  CHECK(memory.kind == cppless::error_kind::task_failed);
  CHECK(memory.remote_type == "std::bad_alloc");

  const caught text = failure_of(instance, [] { throw "characters"; });
  CHECK(text.remote_type == "char const*");
}

TEST_CASE("A nested exception's what() comes along") {
  auto instance = make_instance();
  const caught error = failure_of(instance, [] {
    try {
      try {
        throw std::out_of_range("the cause");
      } catch (...) {
        std::throw_with_nested(std::runtime_error("the middle"));
      }
    } catch (...) {
      std::throw_with_nested(custom_error("the outcome"));
    }
  });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.says("the outcome"));
  CHECK(error.says("the middle"));
  CHECK(error.says("the cause"));
}

TEST_CASE("Long and multi-line messages arrive whole") {
  auto instance = make_instance();
  const std::string text = std::string(100'000, 'x') + "\nsecond line\0zero";
  const caught error = failure_of(instance, [text] { throw std::runtime_error(text); });
  CHECK(error.says(std::string(100'000, 'x')));
  CHECK(error.says("second line"));
}

TEST_CASE("cppless errors thrown by a task arrive as task_failed") {
  auto instance = make_instance();
  const caught error = failure_of(instance, [] { throw cppless::rejected("not today"); });
  CHECK(error.kind == cppless::error_kind::task_failed);
  CHECK(error.says("not today"));
}

TEST_CASE("An exception during the encoding of a result leaves nothing of it behind") {
  auto instance = make_instance();
  for (int i = 0; i < 20; ++i) {
    auto future = cppless::async(instance, [] { return explosive{}; });
    CHECK(error_of([&] { future.get(); }).says("cannot be saved"));
  }
  // In the host: nothing is sent.
  CHECK_THROWS_AS(cppless::async(instance, [](const explosive&) {}, explosive{}),
                  std::runtime_error);
  CHECK(error_of([&] { instance.wait_one(); }).kind == cppless::error_kind::rejected);
  CHECK(cppless::async(instance, [] { return 1; }).get() == 1);
}

TEST_CASE("Many failing tasks among good ones end exactly once each") {
  auto instance = make_instance();
  const int count = scaled(3000);
  std::vector<int> results(count, -1);
  for (int i = 0; i < count; ++i) {
    cppless::dispatch(
        instance,
        [](int x) {
          if (x % 3 == 0) throw std::runtime_error(std::to_string(x));
          return x;
        },
        results[i], {i});
  }
  int failed = 0;
  for (int i = 0; i < count; ++i) failed += error_of([&] { instance.wait_one(); }).any ? 1 : 0;
  CHECK(failed == (count + 2) / 3);
  for (int i = 0; i < count; ++i) CHECK(results[i] == (i % 3 == 0 ? -1 : i));
}
