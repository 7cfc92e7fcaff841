// SPDX-License-Identifier: Apache-2.0
/// Many small elements: a task for each beside chunks that become smaller, on two workers. The work is
/// the more the later the element comes, so that chunks of one size would not end together.

#include <cppless/cppless.hpp>

#include <cstdint>
#include <vector>

#include "harness.hpp"

namespace {

std::uint64_t scramble(int element) {
  std::uint64_t value = static_cast<std::uint64_t>(element);
  for (int turn = element / 2048; turn >= 0; --turn) value = value * 6364136223846793005u + 1;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("balance_small", argc, argv);
  constexpr unsigned workers = 2;
  auto instance = cppless::local_dispatcher({.workers = workers}).create_instance();
  for (const int count : {10'000, 1'000'000}) {
    std::vector<int> elements(static_cast<std::size_t>(count));
    for (int at = 0; at < count; ++at) elements[static_cast<std::size_t>(at)] = at;
    std::vector<std::uint64_t> expected, results;
    for (const int each : elements) expected.push_back(scramble(each));
    const auto per_element = [&](double seconds) { return seconds * 1e6 / count; };
    const auto right = [&] { return results == expected; };
    const auto one_task_each = [&] {
      return per_element(bench::seconds(
          [&] { results = cppless::map(instance, elements, cppless::fn<&scramble>); }));
    };
    const auto in_chunks = [&] {
      return per_element(bench::seconds([&] {
        results = cppless::map(instance, elements, cppless::fn<&scramble>, cppless::guided());
      }));
    };
    const auto serial = [&] {
      results.clear();
      return per_element(bench::seconds([&] {
        for (const int each : elements) results.push_back(scramble(each));
      }));
    };
    suite.compare(std::to_string(count) + " elements", bench::unit::us_per_call, "one task each",
                  {{"one task each", one_task_each, right},
                   {"guided", in_chunks, right},
                   {"serial", serial, right}});
  }
  return suite.finish();
}
