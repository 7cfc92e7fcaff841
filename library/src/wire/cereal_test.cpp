// SPDX-License-Identifier: Apache-2.0
#include "wire/round_trip.hpp"

#include <cereal/types/bitset.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/valarray.hpp>

#include <array>
#include <map>
#include <memory>
#include <vector>

using wire_test::complaint;
using wire_test::hex;
using wire_test::over;
using wire_test::round_trip;
using wire_test::unhex;

namespace {

struct plain {
  int a;
  std::string b;
  bool operator==(const plain&) const = default;
};

struct with_serialize {
  int a = 0;
  std::vector<plain> plains;
  std::map<std::string, plain> named;
  plain one{};
  bool operator==(const with_serialize&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(a, CEREAL_NVP(plains));
    archive& named;
    if constexpr (Archive::is_saving::value) {
      archive << one;
    } else {
      archive >> one;
    }
  }
};

class with_save_and_load {
 public:
  with_save_and_load() = default;
  explicit with_save_and_load(int twice) : twice_(twice) {}
  bool operator==(const with_save_and_load&) const = default;

  template <class Archive>
  void save(Archive& archive) const {
    archive(twice_ / 2);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(twice_);
    twice_ *= 2;
  }

 private:
  int twice_ = 0;
};

struct minimal {
  std::string text;
  bool operator==(const minimal&) const = default;
  template <class Archive>
  std::string save_minimal(const Archive&) const {
    return text;
  }
  template <class Archive>
  void load_minimal(const Archive&, const std::string& value) {
    text = value;
  }
};

struct versioned {
  int a = 0;
  int since_version_2 = 0;
  bool operator==(const versioned&) const = default;
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    archive(a);
    if (version >= 2) archive(since_version_2);
  }
};

struct outside {
  int a = 0;
  bool operator==(const outside&) const = default;
};
template <class Archive>
void serialize(Archive& archive, outside& value) {
  archive(value.a);
}

struct with_plain_function {
  int a = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(a);
  }
};

/// Inherits one function and says that another is meant.
struct specialised : with_plain_function {
  int b = 0;
};
template <class Archive>
void serialize(Archive& archive, specialised& value) {
  archive(value.a, value.b);
}

class no_default {
 public:
  explicit no_default(int x) : x_(x) {}
  int x() const { return x_; }
  template <class Archive>
  void save(Archive& archive) const {
    archive(x_, extra);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<no_default>& construct) {
    int x;
    archive(x);
    construct(x);
    archive(construct->extra);
  }
  std::string extra;

 private:
  int x_;
};

class secret {
 public:
  static secret make(int x) {
    secret made;
    made.x_ = x;
    return made;
  }
  int x() const { return x_; }

 private:
  friend class cereal::access;
  secret() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x_);
  }
  int x_ = 0;
};

struct base_part {
  int b;
};
struct with_plain_base : base_part {
  int d = 0;
  with_plain_base() : base_part{0} {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<base_part>(this), d);
  }
};

/// Does not give up at the first error, as no well-behaved function would.
struct stubborn {
  std::vector<std::pair<int, std::string>> values;
  template <class Archive>
  void serialize(Archive& archive) {
    try {
      archive(values);
    } catch (const cppless::rejected&) {
      archive(values);
    }
  }
};

struct deferring {
  std::shared_ptr<plain> first;
  int second = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::defer(first), second);
    archive.serializeDeferments();
  }
};

struct node {
  std::string name;
  std::vector<std::shared_ptr<node>> children;
  std::weak_ptr<node> parent;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, children, parent);
  }
};

struct shape_base {
  virtual ~shape_base() = default;
  virtual double area() const = 0;
};
struct square : shape_base {
  double side = 0;
  plain note{};
  double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(side, note);
  }
};
struct disc : shape_base {
  explicit disc(double r) : radius(r) {}
  double radius;
  double area() const override { return 3 * radius * radius; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(radius);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<disc>& construct) {
    double radius;
    archive(radius);
    construct(radius);
  }
};
struct unrelated_base {
  virtual ~unrelated_base() = default;
};
struct unrelated : unrelated_base {
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};

struct scene {
  std::vector<std::shared_ptr<shape_base>> shapes;
  std::unique_ptr<shape_base> extra;
};

}  // namespace

CEREAL_CLASS_VERSION(versioned, 2)
CEREAL_SPECIALIZE_FOR_ALL_ARCHIVES(specialised, cereal::specialization::non_member_serialize)
CEREAL_REGISTER_TYPE(square)
CEREAL_REGISTER_TYPE(disc)
CEREAL_REGISTER_TYPE(unrelated)
CEREAL_REGISTER_POLYMORPHIC_RELATION(shape_base, square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(shape_base, disc)
CEREAL_REGISTER_POLYMORPHIC_RELATION(unrelated_base, unrelated)

TEST_CASE("users' functions of every kind work, with aggregates inside") {
  const with_serialize all{1, {{2, "two"}, {3, "three"}}, {{"four", {4, "4"}}}, {5, "five"}};
  CHECK(round_trip(all) == all);
  CHECK(over({9, {{8, "old"}}, {}, {}}, all) == all);
  CHECK(round_trip(with_save_and_load(42)) == with_save_and_load(42));
  CHECK(round_trip(minimal{"text"}) == minimal{"text"});
  CHECK(round_trip(outside{3}) == outside{3});
  CHECK(round_trip(secret::make(4)).x() == 4);
  const std::vector<versioned> twice{{1, 2}, {3, 4}};
  CHECK(round_trip(twice) == twice);
  specialised both;
  both.a = 1;
  both.b = 2;
  CHECK(round_trip(both).a == 1);
  CHECK(round_trip(both).b == 2);
  with_plain_base derived;
  derived.b = 1;
  derived.d = 2;
  CHECK(round_trip(derived).b == 1);
  CHECK(round_trip(derived).d == 2);
}

TEST_CASE("a function that reads on after an error gets the bytes that are left") {
  stubborn value;
  for (int i = 0; i < 5000; ++i) value.values.emplace_back(i, std::string(i % 50 + 4, 'x'));
  CHECK(round_trip(stubborn{{{1, "one"}, {2, "two"}}}).values.size() == 2);
  std::string json = cppless::json_binary_archive::serialize(value);
  CHECK(cppless::json_binary_archive::deserialize<stubborn>(json).values == value.values);
  for (const std::size_t place : {100, 1000, 50'000, 200'000}) {
    std::string broken = json;
    broken.at(place) = '*';
    CHECK_THROWS_AS(cppless::json_binary_archive::deserialize<stubborn>(broken), cppless::rejected);
  }
}

TEST_CASE("further standard types work once cereal's header is included") {
  CHECK(round_trip(std::complex<double>(1, 2)) == std::complex<double>(1, 2));
  CHECK(round_trip(std::bitset<70>(5)) == std::bitset<70>(5));
  const std::valarray<int> numbers{1, 2, 3};
  CHECK(round_trip(numbers).sum() == 6);
}

TEST_CASE("types without default constructor are built by load_and_construct") {
  no_default value(3);
  value.extra = std::string(50, 'e');
  CHECK(round_trip(value).x() == 3);
  CHECK(round_trip(value).extra == value.extra);
  std::vector<no_default> several(3, value);
  CHECK(round_trip(several).at(2).x() == 3);
  CHECK(over({no_default(1)}, several).size() == 3);
  const std::pair<int, no_default> pair{1, value};
  CHECK(round_trip(pair).second.x() == 3);
  CHECK(round_trip(std::make_unique<no_default>(5))->x() == 5);
  CHECK(round_trip(std::make_shared<no_default>(6))->x() == 6);
  no_default other(9);
  cppless::binary_archive::deserialize(cppless::binary_archive::serialize(value), other);
  CHECK(other.x() == 3);
}

TEST_CASE("shared objects stay shared and may refer back") {
  auto root = std::make_shared<node>();
  root->name = "root";
  root->children = {std::make_shared<node>(), nullptr};
  root->children[0]->name = "child";
  root->children[0]->parent = root;
  root->children.push_back(root->children[0]);
  const auto copy = round_trip(root);
  CHECK(copy->children[0]->name == "child");
  CHECK(copy->children[0] == copy->children[2]);
  CHECK(copy->children[0]->parent.lock() == copy);
  const deferring later{std::make_shared<plain>(plain{1, "x"}), 2};
  const auto read = round_trip(later);
  CHECK(*read.first == plain{1, "x"});
  CHECK(read.second == 2);
}

TEST_CASE("one address may hold shared objects of two types") {
  struct outer {
    plain first;
    int rest;
  };
  const auto whole = std::make_shared<outer>(outer{{1, "x"}, 2});
  const std::shared_ptr<plain> part(whole, &whole->first);
  const auto copy = round_trip(std::pair(whole, part));
  CHECK(copy.first->rest == 2);
  CHECK(*copy.second == plain{1, "x"});
}

TEST_CASE("polymorphic pointers keep their dynamic type") {
  scene all;
  auto s = std::make_shared<square>();
  s->side = 2;
  s->note = {1, "note"};
  all.shapes = {s, std::make_shared<disc>(2), nullptr, s};
  all.extra = std::make_unique<disc>(1);
  const scene copy = round_trip(all);
  CHECK(copy.shapes[0]->area() == 4);
  CHECK(copy.shapes[1]->area() == 12);
  CHECK(copy.shapes[2] == nullptr);
  CHECK(copy.shapes[3] == copy.shapes[0]);
  CHECK(copy.extra->area() == 3);
}

TEST_CASE("a shared object is never taken for one of another type") {
  using pair = std::pair<std::shared_ptr<int>, std::shared_ptr<std::string>>;
  // object 1 is an int; then the string claims to be object 1
  const std::string said = complaint<pair>(unhex("010000802a00000001000000"));
  CHECK(said.find("shared object 1 is a i, not a ") != std::string::npos);
  CHECK(complaint<std::shared_ptr<int>>(unhex("05000000")) ==
        "malformed data: shared object 5 is referred to before it was read; 0 were");
}

TEST_CASE("malformed polymorphic pointers are rejected") {
  const auto name_of = [](const std::string& name) {
    return "01000080" + hex(cppless::binary_archive::serialize(name));
  };
  using pointer = std::shared_ptr<shape_base>;
  CHECK(complaint<pointer>(unhex("00000000")) == "accepted");
  CHECK(complaint<pointer>(unhex(name_of("nonsense"))).find("nonsense") != std::string::npos);
  CHECK(complaint<pointer>(unhex(name_of("unrelated") + "010000800000000000000000")) !=
        "accepted");
  CHECK(complaint<std::unique_ptr<shape_base>>(
            unhex(name_of("unrelated") + "010000000000000000")) != "accepted");
  CHECK(complaint<pointer>(unhex("07000000")) != "accepted");
}
