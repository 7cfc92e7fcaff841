// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Graphs of nodes that do next to nothing, so that what is measured is the graph: a node's value is
/// a mix of its number and the values it depends on.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace bench {

/// `inputs[i]` are nodes before i.
struct shape {
  std::string name;
  std::vector<std::vector<std::uint32_t>> inputs;
  std::size_t size() const { return inputs.size(); }
};

inline std::uint64_t mix(std::uint64_t number, std::uint64_t value) {
  return (number ^ value) * 6364136223846793005U + 1442695040888963407U;
}

inline shape chain(std::size_t count) {
  shape made{"chain", std::vector<std::vector<std::uint32_t>>(count)};
  for (std::uint32_t i = 1; i < count; ++i) made.inputs[i] = {i - 1};
  return made;
}

/// One node, then all but two of them, then one that depends on these.
inline shape fan(std::size_t count) {
  shape made{"fan-out, fan-in", std::vector<std::vector<std::uint32_t>>(count)};
  for (std::uint32_t i = 1; i + 1 < count; ++i) {
    made.inputs[i] = {0};
    made.inputs[count - 1].push_back(i);
  }
  return made;
}

/// Each node depends on 1 to 3 of the 100 before it.
inline shape random_dag(std::size_t count) {
  shape made{"random", std::vector<std::vector<std::uint32_t>>(count)};
  std::minstd_rand random(1);
  for (std::uint32_t i = 1; i < count; ++i) {
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      made.inputs[i].push_back(i - 1 - static_cast<std::uint32_t>(random() % std::min(i, 100U)));
    }
  }
  return made;
}

/// The value of the last node.
inline std::uint64_t computed_in_place(const shape& of) {
  std::vector<std::uint64_t> values(of.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    std::uint64_t sum = 0;
    for (const std::uint32_t input : of.inputs[i]) sum += values[input];
    values[i] = mix(i, sum);
  }
  return values.back();
}

/// The same by oneTBB's flow graph, in this process (with_tbb.cpp).
std::uint64_t computed_by_tbb(const shape& of, unsigned threads);

}  // namespace bench
