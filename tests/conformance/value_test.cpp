// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cereal/archives/binary.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "under_test.hpp"

struct polymorphic_shape {
  virtual ~polymorphic_shape() = default;
  virtual double area() const = 0;
};
struct square : polymorphic_shape {
  double side = 0;
  square() = default;
  explicit square(double s) : side(s) {}
  double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(side);
  }
};
struct disc : polymorphic_shape {
  double radius = 0;
  disc() = default;
  explicit disc(double r) : radius(r) {}
  double area() const override { return 3 * radius * radius; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(radius);
  }
};
CEREAL_REGISTER_TYPE(square)
CEREAL_REGISTER_TYPE(disc)
CEREAL_REGISTER_POLYMORPHIC_RELATION(polymorphic_shape, square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(polymorphic_shape, disc)

namespace {

/// Neither default constructible nor assignable.
class label {
 public:
  explicit label(std::string text) : text_(std::move(text)) {}
  label(const label&) = default;
  label(label&&) = default;
  label& operator=(const label&) = delete;
  const std::string& text() const { return text_; }

  template <class Archive>
  void save(Archive& archive) const {
    archive(text_);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<label>& construct) {
    std::string text;
    archive(text);
    construct(std::move(text));
  }

 private:
  std::string text_;
};

struct node {
  std::string name;
  std::vector<node> children;
};

struct plain {
  int number;
  std::string text;
  std::array<double, 3> point;
  std::optional<std::vector<int>> list;
};

enum class colour : std::uint8_t { red = 3, blue = 9 };

std::size_t count_nodes(const node& root) {
  std::size_t sum = 1;
  for (const node& each : root.children) sum += count_nodes(each);
  return sum;
}

}  // namespace

TEST_CASE("Strings, containers and nested closures can be captured") {
  auto instance = make_instance();
  const std::string text = "a string too long for the small buffer of std::string";
  const std::vector<std::string> list{"one", "", "three"};
  const std::map<std::string, std::vector<int>> table{{"x", {1, 2}}, {"y", {}}, {"z", {3}}};
  const auto inner = [text, list](std::size_t i) { return list[i] + text; };
  const auto outer = [inner, table](std::size_t i) { return inner(i) + table.rbegin()->first; };
  std::string result;
  cppless::dispatch(instance, outer, result, {2});
  cppless::wait(instance, 1);
  CHECK(result == "three" + text + "z");
  auto sizes = cppless::async(instance, [=] { return std::tuple{text.size(), list, table}; }).get();
  CHECK(sizes == std::tuple{text.size(), list, table});
}

TEST_CASE("A task may change its captured values without effect on the host's") {
  auto instance = make_instance();
  int count = 10;
  auto task = [count]() mutable { return ++count; };
  int first = 0, second = 0;
  cppless::dispatch(instance, task, first);
  cppless::dispatch(instance, task, second);
  cppless::wait(instance, 2);
  CHECK(first == 11);
  CHECK(second == 11);
  CHECK(count == 10);
}

TEST_CASE("Captures may be initialised, moved in, const and copies of *this") {
  struct owner {
    int value;
    int run(cppless::instance& instance) {
      return cppless::async(instance, [*this](int x) { return value * x; }, 3).get();
    }
  };
  auto instance = make_instance();
  CHECK(owner{7}.run(instance) == 21);
  auto pointer = std::make_unique<std::vector<int>>(5, 2);
  auto moved = [owned = std::move(pointer), factor = 1.5]() {
    return std::accumulate(owned->begin(), owned->end(), 0) * factor;
  };
  CHECK(cppless::async(instance, moved).get() == 15);
  const std::string constant = "const";
  CHECK(cppless::async(instance, [constant] { return constant; }).get() == "const");
}

TEST_CASE("Move-only arguments and results go both ways") {
  auto instance = make_instance();
  std::unique_ptr<int> result;
  cppless::dispatch(
      instance, [](std::unique_ptr<int> x) { return std::make_unique<int>(*x + 1); }, result,
      {std::make_unique<int>(41)});
  cppless::wait(instance, 1);
  REQUIRE(result);
  CHECK(*result == 42);
  auto future = cppless::async(
      instance, [](std::vector<std::unique_ptr<int>> v) { return std::move(v[1]); },
      [] {
        std::vector<std::unique_ptr<int>> v(2);
        v[1] = std::make_unique<int>(6);
        return v;
      }());
  CHECK(*future.get() == 6);
  CHECK(cppless::async(instance, [](std::unique_ptr<int> p) { return p == nullptr; },
                       std::unique_ptr<int>{})
            .get());
}

TEST_CASE("Arguments, captures and results need no default constructor") {
  auto instance = make_instance();
  const label captured("captured");
  auto task = [captured](const label& given) { return label(captured.text() + "+" + given.text()); };
  CHECK(cppless::async(instance, task, label("given")).get().text() == "captured+given");
  const auto all =
      cppless::map(instance, std::vector<int>{1, 2}, [](int x) { return label(std::to_string(x)); });
  CHECK(all.at(1).text() == "2");
}

TEST_CASE("Polymorphic pointers keep their dynamic type, shared ones their identity") {
  auto instance = make_instance();
  const std::shared_ptr<polymorphic_shape> shape = std::make_shared<square>(3);
  const std::vector<std::shared_ptr<polymorphic_shape>> shapes{shape, std::make_shared<disc>(2), shape};
  auto task = [shapes] {
    double sum = 0;
    for (const auto& each : shapes) sum += each->area();
    return std::pair{sum, shapes[0] == shapes[2]};
  };
  CHECK(cppless::async(instance, task).get() == std::pair{30.0, true});
  auto back = cppless::async(instance, [](double r) -> std::unique_ptr<polymorphic_shape> {
                return std::make_unique<disc>(r);
              }, 1.0).get();
  CHECK(back->area() == 3);
}

TEST_CASE("Aggregates, variants, enumerations, times and trees need no code") {
  auto instance = make_instance();
  const plain value{4, "text", {1, 2, 3}, std::vector<int>{5, 6}};
  const plain copy = cppless::async(instance, [](plain p) {
                       p.number += static_cast<int>(p.list->size());
                       return p;
                     }, value).get();
  CHECK(copy.number == 6);
  CHECK(copy.text == "text");
  CHECK(copy.point == value.point);
  CHECK(copy.list == value.list);
  using choice = std::variant<int, std::string>;
  CHECK(cppless::async(instance, [](choice c) { return choice(std::get<int>(c) == 1 ? "yes" : "no"); },
                       choice(1)).get() == choice("yes"));
  CHECK(cppless::async(instance, [](colour c) { return c == colour::red ? colour::blue : c; },
                       colour::red).get() == colour::blue);
  using std::chrono::seconds;
  CHECK(cppless::async(instance, [](seconds s) { return s * 2; }, seconds(4)).get() == seconds(8));
  const node tree{"root", {{"a", {{"b", {}}}}, {"c", {}}}};
  CHECK(cppless::async(instance, [tree] { return count_nodes(tree); }).get() == 4);
}

TEST_CASE("Payloads and results of every size around the borders arrive unchanged") {
  auto instance = make_instance();
  std::vector<std::size_t> sizes{0, 1, 31, 32, 33, 39, 40, 41, 55, 56, 57, 63, 64, 65, 79, 80, 81,
                                 87, 88, 89, 127, 128, 511, 512, 513, 4095, 4096, 4097, 65536,
                                 std::size_t{1} << 20};
  // Lambda takes 6 MB, in base64.
  if (!is_sanitized) sizes.push_back(is_remote() ? std::size_t{4} << 20 : std::size_t{64} << 20);
  const auto pattern = [](std::size_t size, unsigned seed) {
    cppless::bytes made(size);
    for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    return made;
  };
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    const cppless::bytes sent = pattern(size, 1);
    // Both ways, and each way alone: small requests with large results and the reverse.
    auto echo = cppless::async(instance, [](const cppless::bytes& data) { return data; }, sent);
    auto made = cppless::async(
        instance, [pattern](std::size_t n) { return pattern(n, 2); }, size);
    auto taken = cppless::async(
        instance, [sent, pattern] { return sent == pattern(sent.size(), 1); });
    CHECK(echo.get() == sent);
    CHECK(made.get() == pattern(size, 2));
    CHECK(taken.get());
  }
}

TEST_CASE("Requests of exactly a slot's and a result's size arrive unchanged") {
  auto instance = make_instance();
  const auto check = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    std::array<std::uint8_t, N> sent{};
    std::iota(sent.begin(), sent.end(), std::uint8_t{1});
    auto echo = cppless::async(instance, [](std::array<std::uint8_t, N> data) { return data; }, sent);
    CHECK(echo.get() == sent);
  };
  check(std::integral_constant<std::size_t, 1>{});
  check(std::integral_constant<std::size_t, 39>{});
  check(std::integral_constant<std::size_t, 40>{});
  check(std::integral_constant<std::size_t, 41>{});
  check(std::integral_constant<std::size_t, 64>{});
  check(std::integral_constant<std::size_t, 65>{});
  check(std::integral_constant<std::size_t, 88>{});
  check(std::integral_constant<std::size_t, 89>{});
}

TEST_CASE("Many large payloads in flight together keep apart") {
  auto instance = make_instance();
  std::vector<std::vector<int>> results(24);
  for (int i = 0; i < 24; ++i) {
    cppless::dispatch(
        instance,
        [](std::vector<int> v, int add) {
          for (int& each : v) each += add;
          return v;
        },
        results[i], {std::vector<int>(100'000 + 1000 * i, i), 1});
  }
  cppless::wait(instance, 24);
  for (int i = 0; i < 24; ++i) {
    CHECK(results[i] == std::vector<int>(100'000 + 1000 * i, i + 1));
  }
}
