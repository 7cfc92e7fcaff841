// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <variant>

/// Values that never meet an archive.
namespace {

struct inner {
  bool flag;
  char tag;
  double number;
  std::string text;
};
struct outer {
  std::vector<inner> many;
  std::map<std::string, std::vector<std::uint16_t>> named;
  std::optional<std::vector<bool>> bits;
  int grid[2][2];
  std::variant<int, std::string, inner> either;
};
struct tree {
  std::string name;
  std::vector<tree> children;
  std::unique_ptr<tree> next;
};
struct constant {
  const int number;
  const std::string text;
};
struct nothing {};
struct large {
  std::optional<std::array<char, 3000>> maybe;
};

using nested = std::vector<std::vector<std::vector<std::uint32_t>>>;
using mixed = std::tuple<std::deque<int>, std::list<std::string>, std::set<std::string>,
                         std::map<int, std::vector<bool>>, std::pair<bool, long double>,
                         std::chrono::nanoseconds, cppless::bytes, std::wstring>;
using unordered = std::unordered_map<int, std::vector<bool>>;

// The order of its elements may change each time: compared are values, not bytes.
void check_unordered(const std::byte* data, std::size_t size) {
  using cppless::binary_archive;
  try {
    const auto value = binary_archive::deserialize<unordered>(std::span(data, size));
    const auto again = binary_archive::deserialize<unordered>(binary_archive::serialize(value));
    if (value != again) fuzz::fail("decoding is not stable");
  } catch (const cppless::rejected&) {
  }
}

outer sample() {
  return {{{true, 'a', 1.5, "text"}, {false, 'b', 2, ""}},
          {{"one", {1, 2, 3}}, {"two", {}}},
          std::vector<bool>{true, false, true},
          {{1, 2}, {3, 4}},
          inner{true, 'c', 3, "three"}};
}

tree sample_tree() {
  tree root{"root", {}, std::make_unique<tree>(tree{"next", {}, nullptr})};
  root.children.push_back({"child", {}, nullptr});
  return root;
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  return {seed(0, nested{{{1, 2}, {3}}, {{4}}}),
          seed(1, sample()),
          seed(2, sample_tree()),
          seed(3, mixed{{1, 2},
                        {"a", "b"},
                        {"c"},
                        {{1, {true}}},
                        {true, 1.0L},
                        std::chrono::nanoseconds(7),
                        cppless::bytes("raw", 3),
                        L"wide"}),
          seed(4, std::vector<nothing>(3)),
          seed(5, std::vector<large>(2)),
          seed(6, std::vector<constant>{{1, "x"}, {2, "y"}}),
          seed(7, unordered{{1, {true}}, {2, {false, true}}})};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  switch (kind % 8) {
    case 0: return check<nested>(data, size);
    case 1: return check<outer>(data, size);
    case 2: return check<tree>(data, size);
    case 3: return check<mixed>(data, size);
    case 4: return check<std::vector<nothing>>(data, size);
    case 5: return check<std::vector<large>>(data, size);
    case 6: return check<std::vector<constant>>(data, size);
    case 7: return check_unordered(data, size);
  }
}

}  // namespace fuzz
