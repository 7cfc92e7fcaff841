// SPDX-License-Identifier: Apache-2.0
/// Must fail, with exit code 1 and exactly two complaints: shows that the harness sees a wrong
/// answer and an exception. tools/bench runs it before anything else.

#include <stdexcept>

#include "harness.hpp"

int main(int argc, char** argv) {
  bench::suite suite("harness_test", argc, argv);
  int runs = 0;
  suite.compare("answers", bench::unit::us, "right",
                {{"right", [&] { return ++runs, 1.0; }, [] { return true; }},
                 {"wrong", [] { return 1.0; }, [] { return false; }},
                 {"throws", []() -> double { throw std::runtime_error("no answer"); }}});
  // 3: a round was left out or added, or a wrong implementation stopped the right one.
  return runs == suite.repetitions() + 1 ? suite.finish() : 3;
}
