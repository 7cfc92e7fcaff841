// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The one harness of all benchmarks: several implementations of the same work, run in turn in one
/// process, their answers checked every time, their times compared with a named reference.
///
///   int main(int argc, char** argv) {
///     bench::suite suite{"serialization", argc, argv};
///     suite.compare("u32/encode", bench::unit::us, "memcpy",
///                   {{"memcpy", [&] { return bench::microseconds(copy); }, [&] { return a == b; }},
///                    {"cppless", [&] { return bench::microseconds(encode); }, [&] { ... }}});
///     return suite.finish();
///   }
///
/// Why in turn: this kind of machine drifts by tens of per cent within seconds (other guests, clock
/// changes). In round-robin order a drift hits every implementation, and the ratio of two
/// implementations is taken within one round before the median over the rounds is formed.
///
/// `median`, `low`, `high` are the median, the smallest and the largest of the repetitions. A first
/// round is run and thrown away: it pays for page faults, cold caches and starting workers.
///
/// Command line of every benchmark:
///   --repetitions N   measured rounds (default 7)
///   --filter S        only cases, or "case/implementation" pairs, whose name contains S
///                     (the reference of such a case always runs)
///   --json FILE       append one JSON object per line and result:
///                     {"benchmark","case","implementation","unit","median","low","high"}, and
///                     "samples", one per round, where implementations ran in turn
///   --list            print the names of the cases and stop
///
/// Exit code: 0, or 1 if any answer was wrong, or 2 for a command line that is not understood.
/// Times never change the exit code.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// What a number means; `higher_is_better` turns ratios round, so that a ratio above 1 always reads
/// "this many times worse than the reference".
struct unit_of_measure {
  const char* name;
  bool higher_is_better = false;
};

namespace unit {
inline constexpr unit_of_measure us{"us"};
inline constexpr unit_of_measure ms{"ms"};
inline constexpr unit_of_measure seconds{"s"};
inline constexpr unit_of_measure us_per_call{"us/call"};
inline constexpr unit_of_measure bytes{"bytes"};
inline constexpr unit_of_measure bytes_per_task{"bytes/task"};
inline constexpr unit_of_measure gib_per_s{"GiB/s", true};
}  // namespace unit

struct implementation {
  std::string name;
  /// Does the work once and returns one sample in the case's unit.
  std::function<double()> measure;
  /// Asked after each `measure`, outside its time: was the answer right? Empty: `measure` throws
  /// if it was not.
  std::function<bool()> check = {};
};

struct summary {
  double median = 0, low = 0, high = 0;
};

/// Median, smallest and largest; `samples` must not be empty.
inline summary summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  const double median = samples.size() % 2 != 0 ? samples[middle]
                                                : (samples[middle - 1] + samples[middle]) / 2;
  return {median, samples.front(), samples.back()};
}

/// Keeps the compiler from discarding the computation of `value`.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

/// Seconds that `work` takes, once.
template <class Work>
double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<Work>(work)();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Work>
double microseconds(Work&& work) {
  return seconds(std::forward<Work>(work)) * 1e6;
}

/// GiB/s of `work`, which handles `bytes` bytes.
template <class Work>
double gib_per_second(double bytes, Work&& work) {
  return bytes / seconds(std::forward<Work>(work)) / (1024.0 * 1024.0 * 1024.0);
}

/// Not thread-safe: one suite belongs to the benchmark's main thread.
class suite {
 public:
  suite(std::string benchmark, int argc, char** argv) : benchmark_(std::move(benchmark)) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view option = argv[i];
      if (option == "--list") {
        list_ = true;
      } else if (i + 1 < argc && option == "--repetitions") {
        repetitions_ = std::atoi(argv[++i]);
      } else if (i + 1 < argc && option == "--filter") {
        filter_ = argv[++i];
      } else if (i + 1 < argc && option == "--json") {
        json_ = argv[++i];
      } else {
        usage(argv[0], argv[i]);
      }
    }
    if (repetitions_ < 1) {
      std::fprintf(stderr, "%s: --repetitions is %d, it must be at least 1\n", argv[0],
                   repetitions_);
      std::exit(2);
    }
    if (!list_) {
      std::printf("== %s (%d repetitions in turn, median [low .. high])\n", benchmark_.c_str(),
                  repetitions_);
    }
  }

  int repetitions() const { return repetitions_; }

  /// True if `--filter` selects this case or one of its implementations and it is not merely to be
  /// listed: guards a set-up that is expensive.
  bool wants(const std::string& case_name, const std::vector<std::string>& implementations = {}) {
    if (list_) {
      std::printf("%s/%s\n", benchmark_.c_str(), case_name.c_str());
      return false;
    }
    return selected(case_name, implementations);
  }

  /// Runs the implementations in turn, `--repetitions` times each, prints a table and appends the
  /// rows. `reference` names the implementation that ratios refer to; empty: no ratios.
  void compare(const std::string& case_name, unit_of_measure unit, const std::string& reference,
               std::vector<implementation> implementations) {
    std::vector<std::string> names;
    for (const auto& each : implementations) {
      names.push_back(each.name);
    }
    if (!wants(case_name, names)) {
      return;
    }
    std::erase_if(implementations, [&](const implementation& each) {
      return each.name != reference && !selected_pair(case_name, each.name);
    });
    std::vector<std::vector<double>> samples(implementations.size());
    std::vector<bool> wrong(implementations.size(), false);
    for (int round = 0; round <= repetitions_; ++round) {
      for (std::size_t i = 0; i < implementations.size(); ++i) {
        if (!wrong[i]) {
          const double sample = once(case_name, implementations[i], wrong, i);
          if (round > 0 && !wrong[i]) {
            samples[i].push_back(sample);
          }
        }
      }
    }
    std::size_t base = implementations.size();
    for (std::size_t i = 0; i < implementations.size(); ++i) {
      if (implementations[i].name == reference && !wrong[i]) {
        base = i;
      }
    }
    print_case(case_name, unit);
    for (std::size_t i = 0; i < implementations.size(); ++i) {
      if (wrong[i]) {
        std::printf("   %-34s WRONG ANSWER\n", implementations[i].name.c_str());
        continue;
      }
      const bool compared = base < implementations.size() && base != i;
      print_row(implementations[i].name, summarise(samples[i]),
                compared ? ratios(samples[i], samples[base], unit) : std::vector<double>{},
                reference);
      append(case_name, implementations[i].name, unit, summarise(samples[i]), samples[i]);
    }
    std::fflush(stdout);
  }

  /// Records samples that were not taken in turn (memory, CPU time of an idle process, ...).
  void record(const std::string& case_name, const std::string& implementation_name,
              unit_of_measure unit, const std::vector<double>& samples, bool right = true) {
    print_case(case_name, unit);
    if (!right) {
      fail(case_name, implementation_name, "the answer is wrong");
      std::printf("   %-34s WRONG ANSWER\n", implementation_name.c_str());
      return;
    }
    print_row(implementation_name, summarise(samples), {}, "");
    append(case_name, implementation_name, unit, summarise(samples));
    std::fflush(stdout);
  }

  /// The exit code for `main`.
  int finish() const {
    std::fflush(stdout);
    if (wrong_answers_ > 0) {
      std::fprintf(stderr, "%s: %d wrong answers\n", benchmark_.c_str(), wrong_answers_);
    }
    return wrong_answers_ > 0 ? 1 : 0;
  }

 private:
  [[noreturn]] static void usage(const char* program, const char* option) {
    std::fprintf(stderr,
                 "%s: '%s' is not understood\n"
                 "usage: %s [--repetitions N] [--filter S] [--json FILE] [--list]\n",
                 program, option, program);
    std::exit(2);
  }

  bool selected_pair(const std::string& case_name, const std::string& name) const {
    return case_name.find(filter_) != std::string::npos ||
           (case_name + "/" + name).find(filter_) != std::string::npos;
  }

  bool selected(const std::string& case_name, const std::vector<std::string>& names) const {
    return selected_pair(case_name, "") || filter_.starts_with(case_name + "/") ||
           std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return selected_pair(case_name, name); });
  }

  double once(const std::string& case_name, const implementation& which, std::vector<bool>& wrong,
              std::size_t index) {
    try {
      const double sample = which.measure();
      if (!which.check || which.check()) {
        return sample;
      }
      fail(case_name, which.name, "the answer is wrong");
    } catch (const std::exception& error) {
      fail(case_name, which.name, error.what());
    }
    wrong[index] = true;
    return 0;
  }

  void fail(const std::string& case_name, const std::string& name, const char* why) {
    ++wrong_answers_;
    std::fflush(stdout);
    std::fprintf(stderr, "%s/%s/%s: %s\n", benchmark_.c_str(), case_name.c_str(), name.c_str(),
                 why);
  }

  /// One ratio per round: both samples of it saw the same weather.
  static std::vector<double> ratios(const std::vector<double>& samples,
                                    const std::vector<double>& base, unit_of_measure unit) {
    std::vector<double> result;
    for (std::size_t i = 0; i < samples.size() && i < base.size(); ++i) {
      result.push_back(unit.higher_is_better ? base[i] / samples[i] : samples[i] / base[i]);
    }
    return result;
  }

  void print_case(const std::string& case_name, unit_of_measure unit) {
    if (last_case_ != case_name) {
      std::printf("-- %s, %s\n", case_name.c_str(), unit.name);
      last_case_ = case_name;
    }
  }

  static void print_row(const std::string& name, summary values, const std::vector<double>& ratio,
                        const std::string& reference) {
    std::printf("   %-34s %12.5g  [%.5g .. %.5g]", name.c_str(), values.median, values.low,
                values.high);
    if (!ratio.empty()) {
      const summary of = summarise(ratio);
      std::printf("   %.3gx [%.3g .. %.3g] of %s", of.median, of.low, of.high, reference.c_str());
    }
    std::printf("\n");
  }

  /// Names are ours and hold no character that JSON would have to escape.
  void append(const std::string& case_name, const std::string& name, unit_of_measure unit,
              summary values, const std::vector<double>& in_turn = {}) const {
    if (json_.empty()) {
      return;
    }
    std::FILE* file = std::fopen(json_.c_str(), "a");
    if (file == nullptr) {
      std::fprintf(stderr, "cannot append to %s: %s\n", json_.c_str(), std::strerror(errno));
      std::exit(2);
    }
    std::fprintf(file,
                 "{\"benchmark\": \"%s\", \"case\": \"%s\", \"implementation\": \"%s\", "
                 "\"unit\": \"%s\", \"median\": %.9g, \"low\": %.9g, \"high\": %.9g",
                 benchmark_.c_str(), case_name.c_str(), name.c_str(), unit.name, values.median,
                 values.low, values.high);
    for (std::size_t i = 0; i < in_turn.size(); ++i) {
      std::fprintf(file, "%s%.9g", i == 0 ? ", \"samples\": [" : ", ", in_turn[i]);
    }
    std::fprintf(file, in_turn.empty() ? "}\n" : "]}\n");
    std::fclose(file);
  }

  std::string benchmark_, filter_, json_, last_case_;
  int repetitions_ = 7, wrong_answers_ = 0;
  bool list_ = false;
};

}  // namespace bench
