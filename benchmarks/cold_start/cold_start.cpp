// SPDX-License-Identifier: Apache-2.0
/// From nothing to the first result: starting a cppless worker, beside fork+exec of a small
/// dynamically linked C++ program that is made for this one task.

#include <cppless/cppless.hpp>
#include <optional>

#include "dispatch/fork_exec.hpp"

int main(int argc, char** argv) {
  bench::suite suite("cold_start", argc, argv);
  bench::answer_sheet answers;
  const bench::payload nothing;
  bench::fork_exec process(nothing, answers);
  bool cold = false;
  std::optional<cppless::instance> instance;

  const auto by_process = [&] {
    answers.reset(1);
    return bench::microseconds([&] { answers[0] = process.run_child(0); });
  };
  const auto by_worker = [&] {
    answers.reset(1);
    const double time = bench::microseconds([&] {
      instance.emplace(cppless::local_dispatcher({.workers = 1}).create_instance());
      cppless::dispatch(
          *instance, [](std::uint64_t n) { return bench::answer_of(n, {}); }, answers[0], {0});
      cold = instance->wait_one().statistics.cold;
    });
    return time;
  };
  const auto ended = [&] {
    instance.reset();  // outside the time
    return cold && answers.right({});
  };
  suite.compare("first result", bench::unit::us, "fork+exec, dynamic C++",
                {{"fork+exec, dynamic C++", by_process, [&] { return answers.right({}); }},
                 {"cppless, new instance", by_worker, ended}});
  return suite.finish();
}
