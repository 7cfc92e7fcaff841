// SPDX-License-Identifier: Apache-2.0
// The fault sweep: many tasks while everything that can go wrong does. Every task must end exactly
// once with the right result or the right error, and nothing may be left behind.
//
//   sweep [--tasks N] [--seed S] [--workers W] [--gigabyte]
//
// Workers are killed at random from outside; of the tasks, 1 in 100 throws, 1 in 500 exceeds its
// time, 1 in 500 its memory (not under sanitizers, which allocate on their own account).
// Plain tasks read a shared value and update shared variables, which must come out right too.
// --gigabyte sends 1 GiB to a task and back instead.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>

#include "command_line.hpp"
#include "killer.hpp"

using namespace std::chrono_literals;
namespace lambda = cppless::lambda;

namespace {

// Enough attempts that random kills end in results; `lost` would be a wrong error here.
using config = lambda::config<lambda::with_attempts<100>>;
using timed = lambda::config<lambda::with_attempts<100>, lambda::with_timeout<1>>;
using sized = lambda::config<lambda::with_attempts<100>, lambda::with_memory<64>>;

enum class kind { plain, large, nested, throws, late, greedy };
constexpr const char* names[] = {"plain", "large", "nested", "throws", "late", "greedy"};

struct options : sweep_options {
  bool gigabyte = false;
};

int fail(const std::string& text) {
  std::cerr << "sweep: " << text << std::endl;
  return 1;
}

kind kind_of(int number) {
  // Odd residues, so that every sweep of a few hundred tasks has some of each.
  if (number % 100 == 41) return kind::throws;
  if (number % 500 == 137) return kind::late;
  if (number % 500 == 303) return is_sanitized ? kind::plain : kind::greedy;
  if (number % 50 == 17) return kind::large;
  return number % 40 == 23 ? kind::nested : kind::plain;
}

std::uint64_t expected(std::uint64_t x) {
  for (int i = 0; i < 1000; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

std::uint64_t work(std::uint64_t x) {
  // Long enough that most kills hit a task.
  std::this_thread::sleep_for(std::chrono::microseconds(x * 7919 % 8000));
  return expected(x);
}

std::uint64_t nested_work(std::uint64_t x) {
  auto inner = cppless::local_dispatcher().create_instance();
  auto left = cppless::async<config>(inner, cppless::fn<&work>, x);
  auto right = cppless::async<config>(inner, cppless::fn<&work>, x + 1);
  return left.get() ^ right.get();
}

cppless::bytes large_work(std::uint64_t x, const cppless::bytes& data) {
  cppless::bytes result = data;
  for (std::byte& each : result) each ^= static_cast<std::byte>(x);
  return result;
}

std::uint64_t greedy_work() {
  std::vector<char> data(std::size_t{300} << 20, 'g');
  asm volatile("" : : "r"(data.data()) : "memory");
  return data.size();
}

struct outcome {
  kind what = kind::plain;
  int number = 0;
  int endings = 0;
  std::string error;
  cppless::error_kind error_kind{};
  std::uint64_t value = 0;
  cppless::bytes data;
};

class sweep {
 public:
  explicit sweep(const options& chosen) : options_(chosen), outcomes_(chosen.tasks) {}

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t descriptors = entries("/proc/self/fd", "");
    int kills = 0;
    {
      auto instance = cppless::local_dispatcher({.workers = options_.workers}).create_instance();
      killer murderer(options_.seed, options_.workers);
      for (int i = 0; i < options_.tasks; ++i) send(instance, i);
      for (int i = 0; i < options_.tasks; ++i) collect(instance);
      kills = murderer.stop();
      try {
        instance.wait_one();
        return fail("one task too many has ended");
      } catch (const cppless::rejected&) {
      }
    }
    if (const std::string left = leftovers(descriptors); !left.empty()) return fail(left);
    return report(kills, std::chrono::steady_clock::now() - begin);
  }

 private:
  void send(cppless::instance& instance, int number) {
    outcome& to = outcomes_[number];
    to.number = number;
    to.what = kind_of(number);
    const auto x = static_cast<std::uint64_t>(number);
    cppless::task_id id = 0;
    switch (to.what) {
      case kind::plain:
        id = cppless::dispatch<config>(
            instance,
            [x, ended = ended_, most = most_, salt = salt_] {
              ended.update(1);  // before what it may be killed in
              most.update(static_cast<int>(x));
              return work(x) + salt->size();
            },
            to.value);
        break;
      case kind::nested:
        id = cppless::dispatch<config>(instance, cppless::fn<&nested_work>, to.value, {x});
        break;
      case kind::large:
        id = cppless::dispatch<config>(instance, cppless::fn<&large_work>, to.data, {x, payload(x)});
        break;
      case kind::throws:
        id = cppless::dispatch<config>(
            instance,
            [ended = ended_](int n) {
              ended.update(1);
              throw std::domain_error("task " + std::to_string(n));
            },
            {number});
        break;
      case kind::late:
        id = cppless::dispatch<timed>(instance, [] { std::this_thread::sleep_for(1h); });
        break;
      case kind::greedy:
        id = cppless::dispatch<sized>(instance, cppless::fn<&greedy_work>, to.value);
        break;
    }
    if (!index_of_.emplace(id, number).second) throw std::runtime_error("an id was given twice");
  }

  void collect(cppless::instance& instance) {
    try {
      const auto [id, statistics] = instance.wait_one();
      ++outcomes_[index_of_.at(id)].endings;
      retries_ += statistics.attempts - 1;
    } catch (const cppless::error& error) {
      outcome& of = outcomes_[index_of_.at(error.id())];
      ++of.endings;
      of.error = error.what();
      of.error_kind = error.kind();
    }
  }

  static cppless::bytes payload(std::uint64_t x) {
    cppless::bytes data(1000 + 997 * (x % 100));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i + x);
    return data;
  }

  bool is_right(const outcome& of) const {
    const auto x = static_cast<std::uint64_t>(of.number);
    const auto failed_as = [&](cppless::error_kind expected, const std::string& text) {
      return of.error_kind == expected && of.error.find(text) != std::string::npos;
    };
    if (of.endings != 1) return false;
    using cppless::error_kind;
    switch (of.what) {
      case kind::plain: return of.error.empty() && of.value == expected(x) + salt_->size();
      case kind::nested: return of.error.empty() && of.value == (expected(x) ^ expected(x + 1));
      case kind::large: return of.error.empty() && of.data == large_work(x, payload(x));
      case kind::throws: return failed_as(error_kind::task_failed, "task " + std::to_string(of.number));
      case kind::late: return failed_as(error_kind::timeout, "1 s");
      case kind::greedy: return failed_as(error_kind::task_failed, "64 MB");
    }
    return false;
  }

  int report(int kills, std::chrono::nanoseconds took) const {
    std::array<int, 6> counts{};
    int wrong = 0;
    for (const outcome& each : outcomes_) {
      ++counts[static_cast<int>(each.what)];
      if (is_right(each)) continue;
      if (++wrong <= 10) {
        std::cerr << "sweep: task " << each.number << " (" << names[static_cast<int>(each.what)]
                  << ") ended " << each.endings << " times: "
                  << (each.error.empty() ? "wrong result" : each.error) << std::endl;
      }
    }
    std::cout << options_.tasks << " tasks:";
    for (std::size_t i = 0; i < counts.size(); ++i) std::cout << ' ' << counts[i] << ' ' << names[i];
    std::cout << "\n" << kills << " workers killed, " << retries_ << " tasks run again, " << wrong
              << " wrong, " << std::chrono::duration<double>(took).count() << " s" << std::endl;
    const int plain = counts[static_cast<int>(kind::plain)];
    if (ended_.get() != plain) {
      return fail(std::to_string(ended_.get()) + " updates counted, of " + std::to_string(plain));
    }
    if (const int last = last_plain(); most_.get() != last) {
      return fail("the largest number seen is " + std::to_string(most_.get()) + ", not " +
                  std::to_string(last));
    }
    if (kills == 0 && options_.tasks >= 500) return fail("nobody was killed: the sweep shows nothing");
    return wrong == 0 ? 0 : 1;
  }

  int last_plain() const {
    int last = options_.tasks - 1;
    while (kind_of(last) != kind::plain) --last;
    return last;
  }

  options options_;
  // Each plain task counts once however often it is started, failed ones never.
  const cppless::shared_variable<int, cppless::merge::sum> ended_{0};
  const cppless::shared_variable<int, cppless::merge::max> most_{-1};
  const cppless::shared_value<std::string> salt_ = cppless::shared(std::string(10'000, 's'));
  std::vector<outcome> outcomes_;
  std::map<cppless::task_id, int> index_of_;
  std::uint64_t retries_ = 0;
};

int send_gigabyte() {
  auto instance = cppless::local_dispatcher({.workers = 1}).create_instance();
  cppless::bytes data(std::size_t{1} << 30);
  for (std::size_t i = 0; i < data.size(); i += 4096) data[i] = static_cast<std::byte>(i >> 12);
  const auto begin = std::chrono::steady_clock::now();
  const cppless::bytes back =
      cppless::async(instance, [](const cppless::bytes& b) { return b; }, data).get();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (back != data) return fail("1 GiB came back changed");
  std::cout << "1 GiB there and back in " << took.count() << " s" << std::endl;
  return 0;
}

int parse(int argc, char** argv, options& to) {
  for (int at = 1; at < argc; ++at) {
    const bool is_gigabyte = std::strcmp(argv[at], "--gigabyte") == 0;
    to.gigabyte |= is_gigabyte;
    if (!is_gigabyte && !to.take(argc, argv, at)) {
      std::cerr << "usage: sweep [--tasks N] [--seed S] [--workers W] [--gigabyte]\n";
      return 2;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  if (const int code = parse(argc, argv, chosen); code != 0) return code;
  try {
    return chosen.gigabyte ? send_gigabyte() : sweep(chosen).run();
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
