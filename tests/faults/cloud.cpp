// SPDX-License-Identifier: Apache-2.0
// The fault sweep of functions on Lambda, or what stands for it: many invocations of which some
// throw, some kill their function, some take too long and some too much memory. Every task must end
// exactly once with the right result or the right error. tests/faults/cloud.py runs it.
//
//   cloud [--invocations N]
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cppless/cppless.hpp>

namespace lambda = cppless::lambda;
using cppless::error_kind;

namespace {

using config = lambda::config<lambda::with_memory<128>, lambda::with_timeout<6>, lambda::with_attempts<4>>;

enum class kind { plain, throws, dies, late, greedy };
constexpr const char* names[] = {"plain", "throws", "dies", "late", "greedy"};

kind kind_of(int number) {
  if (number % 100 == 41) return kind::throws;
  if (number % 200 == 67) return kind::dies;
  if (number % 500 == 137) return kind::late;
  if (number % 500 == 303) return kind::greedy;
  return kind::plain;
}

std::uint64_t expected(std::uint64_t x) {
  for (int i = 0; i < 1000; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

bool is_right(kind what, const cppless::error* error) {
  if (error == nullptr) return what == kind::plain;
  switch (what) {
    case kind::plain: return false;
    case kind::throws:
    case kind::greedy: return error->kind() == error_kind::task_failed;
    case kind::dies: return error->kind() == error_kind::lost;
    case kind::late: return error->kind() == error_kind::timeout;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 10'000;
  if (argc == 3 && std::string_view(argv[1]) == "--invocations") {
    const std::string_view text = argv[2];
    std::from_chars(text.data(), text.data() + text.size(), count);
  } else if (argc != 1) {
    std::cerr << "usage: cloud [--invocations N]\n";
    return 2;
  }
  cppless::instance on = cppless::default_dispatcher().create_instance();
  const auto task = [](int number, int what) {
    switch (static_cast<kind>(what)) {
      case kind::throws: throw std::domain_error("number " + std::to_string(number));
      case kind::dies: ::abort();
      case kind::late: ::sleep(30); break;
      case kind::greedy: {
        std::vector<std::vector<char>> eaten;
        for (int i = 0; i < 1024; ++i) eaten.emplace_back(1 << 20, 'x');
        break;
      }
      case kind::plain: break;
    }
    return expected(static_cast<std::uint64_t>(number));
  };
  std::vector<std::uint64_t> results(static_cast<std::size_t>(count));
  std::vector<std::uint8_t> ends(static_cast<std::size_t>(count) + 1);
  std::map<kind, int> right;
  int wrong = 0;
  const auto take_one = [&] {
    cppless::task_id id = 0;
    bool good = false;
    std::string text = "no error";
    try {
      id = on.wait_one().id;
      good = results[id - 1] == expected(id - 1) && is_right(kind_of(static_cast<int>(id) - 1), nullptr);
    } catch (const cppless::error& error) {
      id = error.id();
      text = std::string(to_string(error.kind())) + ": " + error.what();
      good = id != 0 && is_right(kind_of(static_cast<int>(id) - 1), &error);
    }
    if (id == 0 || id >= ends.size() || ++ends[id] != 1) good = false;
    if (good) {
      ++right[kind_of(static_cast<int>(id) - 1)];
    } else if (++wrong <= 5) {
      std::cerr << "task " << id << " (" << names[static_cast<int>(kind_of(static_cast<int>(id) - 1))] << ", end "
                << int{ends[id]} << "): " << text << '\n';
    }
  };
  constexpr int most_outstanding = 200;
  for (int i = 0; i < count; ++i) {
    if (i >= most_outstanding) take_one();
    cppless::dispatch<config>(on, task, results[static_cast<std::size_t>(i)], {i, static_cast<int>(kind_of(i))});
  }
  for (int i = 0; i < std::min(count, most_outstanding); ++i) take_one();
  std::cout << count << " invocations:";
  for (const auto& [what, number] : right) std::cout << ' ' << number << ' ' << names[static_cast<int>(what)];
  std::cout << ", " << wrong << " wrong" << std::endl;
  return wrong == 0 ? 0 : 1;
}
