// SPDX-License-Identifier: Apache-2.0
// The fault sweep over graphs: random graphs while workers are killed at random. Every node must end
// with the right value, or with the right error if it or what it depends on fails by itself.
//
//   graph_sweep [--tasks N] [--seed S] [--workers W]
//
// Of the nodes, 1 in 50 throws, 1 in 500 exceeds its time, 1 in 100 kills its own worker each time,
// 1 in 20 returns a graph of its own. Graphs take turns between the two executors.
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>

#include "command_line.hpp"
#include "killer.hpp"

using namespace std::chrono_literals;
namespace graph = cppless::graph;
namespace lambda = cppless::lambda;

namespace {

// Enough attempts that random kills end in results; `lost` would be a wrong error here.
using config = lambda::config<lambda::with_attempts<100>>;
using timed = lambda::config<lambda::with_attempts<100>, lambda::with_timeout<1>>;

enum class kind { plain, throws, late, dies, expands };
constexpr const char* names[] = {"plain", "throws", "late", "dies", "expands"};

using value = std::vector<std::uint64_t>;

int fail(const std::string& text) {
  std::cerr << "graph_sweep: " << text << std::endl;
  return 1;
}

kind kind_of(int number) {
  if (number % 50 == 41) return kind::throws;
  if (number % 500 == 137) return kind::late;
  if (number % 100 == 73) return kind::dies;
  return number % 20 == 7 ? kind::expands : kind::plain;
}

// Of a few bytes to 40 KB.
value expected(int number, const std::vector<value>& from) {
  std::uint64_t sum = static_cast<std::uint64_t>(number);
  for (const value& each : from) {
    for (const std::uint64_t part : each) sum = sum * 6364136223846793005u + part;
  }
  return value(1 + sum % (number % 10 == 0 ? 5000 : 10), sum);
}

value work(int number, const std::vector<value>& from) {
  // Long enough that most kills hit a task.
  std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 8000));
  return expected(number, from);
}

struct node {
  int number;
  kind what;
  std::vector<std::size_t> inputs;
  graph::sender<value> sender;
  value result;                      ///< If it is to succeed.
  bool is_cancelled = false;
};

class sweep {
 public:
  explicit sweep(const sweep_options& chosen) : options_(chosen), random_(chosen.seed) {}

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t descriptors = entries("/proc/self/fd", "");
    int kills = 0;
    {
      const cppless::local_dispatcher dispatcher({.workers = options_.workers});
      killer murderer(options_.seed, options_.workers);
      auto workers = dispatcher.create_instance();
      for (int graphs = 0; next_ < options_.tasks; ++graphs) {
        // Each loss of the worker that runs a graph begins it anew: such graphs are small.
        if (graphs % 2 == 0) {
          graph::builder builder{workers};
          run_one(builder, 200);
        } else {
          graph::builder<graph::delegating_executor<config>> builder{dispatcher, workers};
          run_one(builder, 25);
        }
      }
      kills = murderer.stop();
    }
    if (const std::string left = leftovers(descriptors); !left.empty()) return fail(left);
    return report(kills, std::chrono::steady_clock::now() - begin);
  }

 private:
  template <class Builder>
  void run_one(Builder& builder, int most) {
    std::vector<node> nodes;
    const auto start = schedule(builder);
    for (int i = 0; i < most && next_ < options_.tasks; ++i) add(nodes, start);
    try {
      builder.await_all();
    } catch (const cppless::error&) {
      // Which node it was is looked at below.
    }
    for (node& each : nodes) check(each);
  }

  void add(std::vector<node>& nodes, const graph::sender<void>& start) {
    const int number = next_++;
    std::vector<std::size_t> inputs;
    std::vector<graph::sender<value>> from;
    for (unsigned n = nodes.empty() ? 0 : random_() % 4; n > 0; --n) {
      inputs.push_back(random_() % nodes.size());
      from.push_back(nodes[inputs.back()].sender);
    }
    const kind what = kind_of(number);
    ++counts_[static_cast<int>(what)];
    node made{number, what, inputs, send(what, number, start, from), {}};
    made.sender->name(std::to_string(number));
    std::vector<value> values;
    for (const std::size_t each : inputs) {
      made.is_cancelled |= nodes[each].is_cancelled || fails(nodes[each].what);
      values.push_back(nodes[each].result);
    }
    if (!made.is_cancelled) made.result = expected(number, values);
    nodes.push_back(std::move(made));
  }

  static bool fails(kind what) { return what != kind::plain && what != kind::expands; }

  static graph::sender<value> send(kind what, int number, const graph::sender<void>& start,
                                   const std::vector<graph::sender<value>>& from) {
    switch (what) {
      case kind::plain: break;
      case kind::throws:
        return then<config>(start, from, [number](const std::vector<value>&) -> value {
          throw std::domain_error("node " + std::to_string(number) + " throws");
        });
      case kind::late:
        return then<timed>(start, from, [](const std::vector<value>&) {
          std::this_thread::sleep_for(1h);
          return value();
        });
      case kind::dies:
        return then<lambda::config<lambda::with_attempts<2>>>(
            start, from, [](const std::vector<value>&) {
              ::kill(::getpid(), SIGKILL);
              return value();
            });
      case kind::expands:
        return then<config>(start, from, [number](const std::vector<value>& given) {
          graph::fragment part;
          auto values = just(part, given);
          auto node = then<config>(values, [number](const std::vector<value>& g) {
            return work(number, g);
          });
          return graph::expansion<value>(node);
        });
    }
    return then<config>(start, from, [number](const std::vector<value>& given) {
      return work(number, given);
    });
  }

  void check(node& of) {
    auto future = of.sender->future();
    std::string said = "nothing";
    bool is_right = false;
    try {
      is_right = future.get() == of.result && !fails(of.what) && !of.is_cancelled;
    } catch (const cppless::error& error) {
      said = error.what();
      const bool names_it = said.find("node \"" + std::to_string(of.number)) != std::string::npos;
      is_right = names_it && error.kind() == error_of(of);
    }
    if (is_right || ++wrong_ > 10) return;
    std::cerr << "graph_sweep: node " << of.number << " (" << names[static_cast<int>(of.what)]
              << (of.is_cancelled ? ", to be cancelled" : "") << ") said " << said << std::endl;
  }

  static cppless::error_kind error_of(const node& of) {
    using cppless::error_kind;
    if (of.is_cancelled) return error_kind::cancelled;
    switch (of.what) {
      case kind::throws: return error_kind::task_failed;
      case kind::late: return error_kind::timeout;
      case kind::dies: return error_kind::lost;
      default: return error_kind::rejected;  // none of its own: whatever it says is wrong
    }
  }

  int report(int kills, std::chrono::nanoseconds took) const {
    std::cout << options_.tasks << " nodes:";
    for (std::size_t i = 0; i < counts_.size(); ++i) std::cout << ' ' << counts_[i] << ' ' << names[i];
    std::cout << "\n" << kills << " workers killed, " << wrong_ << " wrong, "
              << std::chrono::duration<double>(took).count() << " s" << std::endl;
    if (kills == 0 && options_.tasks >= 500) return fail("nobody was killed: the sweep shows nothing");
    return wrong_ == 0 ? 0 : 1;
  }

  sweep_options options_;
  std::minstd_rand random_;
  int next_ = 0;
  int wrong_ = 0;
  std::array<int, 5> counts_{};
};

int parse(int argc, char** argv, sweep_options& to) {
  for (int at = 1; at < argc; ++at) {
    if (!to.take(argc, argv, at)) {
      std::cerr << "usage: graph_sweep [--tasks N] [--seed S] [--workers W]\n";
      return 2;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  sweep_options chosen;
  if (const int code = parse(argc, argv, chosen); code != 0) return code;
  try {
    return sweep(chosen).run();
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
