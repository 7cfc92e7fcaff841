// SPDX-License-Identifier: Apache-2.0
#include <cppless/binary_archive.hpp>
#include <cppless/json_structured_archive.hpp>

#include <cereal/types/complex.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/valarray.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>

using archive = cppless::json_structured_archive;

namespace {

struct point {
  int x;
  double y;
};
struct person {
  std::string name;
  std::vector<point> path;
  std::optional<int> age;
  std::map<std::string, bool> flags;
  char tag[3];
};
struct named {
  int first = 0;
  std::string second;
  std::vector<point> points;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(first), cereal::make_nvp("the second", second), points);
  }
};
struct minimal {
  int a = 0;
  template <class Archive>
  int save_minimal(const Archive&) const {
    return a;
  }
  template <class Archive>
  void load_minimal(const Archive&, const int& value) {
    a = value;
  }
};
struct versioned_in_json {
  int a = 0;
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    if (version == 3) archive(CEREAL_NVP(a));
  }
};
struct built {
  explicit built(int x) : x(x) {}
  int x;
  point p{};
  template <class Archive>
  void save(Archive& archive) const {
    archive(CEREAL_NVP(x), CEREAL_NVP(p));
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<built>& construct) {
    int x;
    archive(CEREAL_NVP(x));
    construct(x);
    archive(cereal::make_nvp("p", construct->p));
  }
};
struct base {
  virtual ~base() = default;
  virtual int kind() const = 0;
};
struct one : base {
  std::vector<point> points;
  int kind() const override { return 1; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(points));
  }
};
struct tree {
  std::vector<tree> children;
};

template <class T>
T round_trip(const T& value) {
  const std::string json = archive::serialize(value);
  T copy = archive::deserialize<T>(json);
  CHECK(archive::serialize(copy) == json);
  CHECK(cppless::binary_archive::serialize(copy) == cppless::binary_archive::serialize(value));
  for (std::size_t n = 0; n < json.size(); ++n) {
    CHECK_THROWS_AS(archive::deserialize<T>(json.substr(0, n)), cppless::rejected);
  }
  return copy;
}

template <class T>
std::string complaint(const std::string& json) {
  try {
    archive::deserialize<T>(json);
  } catch (const cppless::rejected& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

CEREAL_CLASS_VERSION(versioned_in_json, 3)
CEREAL_REGISTER_TYPE(one)
CEREAL_REGISTER_POLYMORPHIC_RELATION(base, one)

TEST_CASE("values look as documented in JSON") {
  CHECK(archive::serialize(5) == R"({"value0":5})");
  CHECK(archive::serialize(person{"Ada", {{1, 2.5}}, 36, {{"on", true}}, {'a', 'b', 'c'}}) ==
        R"({"value0":{"value0":"Ada","value1":[{"value0":1,"value1":2.5}],)"
        R"("value2":{"nullopt":false,"data":36},"value3":[{"key":"on","value":true}],)"
        R"("value4":[97,98,99]}})");
  CHECK(archive::serialize(named{1, "x", {}}) ==
        R"({"value0":{"first":1,"the second":"x","value2":[]}})");
  CHECK(archive::serialize(minimal{4}) == R"({"value0":4})");
  CHECK(archive::serialize(versioned_in_json{4}) == R"({"value0":{"cereal_class_version":3,"a":4}})");
  CHECK(archive::serialize(std::make_shared<int>(7)) ==
        R"({"value0":{"id":2147483649,"data":7}})");
  CHECK(archive::serialize(std::string("q\"\\\n\x01\0z", 7)) ==
        R"({"value0":"q\"\\\u000a\u0001\u0000z"})");
}

TEST_CASE("values of every form come back from JSON") {
  round_trip(person{"Ada", {{1, 2.5}}, 36, {{"on", true}}, {'a', 'b', 'c'}});
  round_trip(std::numeric_limits<std::int64_t>::min());
  round_trip(std::numeric_limits<std::uint64_t>::max());
  round_trip(std::vector<double>{0.1, -0.0, 1e300, 5e-324});
  round_trip(std::vector<float>{0.1f, std::numeric_limits<float>::infinity()});
  CHECK(std::isnan(archive::deserialize<double>(archive::serialize(std::nan("")))));
  round_trip(0.1L);
  round_trip(std::tuple<int, std::string, std::pair<bool, char>>{1, "x", {true, 'y'}});
  round_trip(std::variant<int, std::string>{"x"});
  round_trip(std::vector<bool>{true, false});
  round_trip(std::array<point, 2>{{{1, 2}, {3, 4}}});
  round_trip(std::set<std::wstring>{L"a", L"b"});
  round_trip(cppless::bytes("\0\xff", 2));
  round_trip(std::chrono::seconds(5));
  round_trip(std::make_unique<point>(point{1, 2}));
  round_trip(std::unique_ptr<int>());
  round_trip(named{1, "two", {{3, 4}}});
  round_trip(minimal{3});
  round_trip(std::vector<versioned_in_json>{{1}, {2}});
  round_trip(std::complex<double>(1, 2));
  round_trip(std::valarray<int>{1, 2, 3});
  CHECK(round_trip(std::vector<built>{built(1), built(2)})[1].x == 2);
  CHECK(round_trip(std::make_shared<built>(5))->x == 5);
}

TEST_CASE("pointers in JSON stay shared and polymorphic") {
  auto object = std::make_shared<one>();
  object->points = {{1, 2}};
  const std::vector<std::shared_ptr<base>> all{object, nullptr, object};
  const auto copy = round_trip(all);
  CHECK(copy[0]->kind() == 1);
  CHECK(copy[0] == copy[2]);
  std::unique_ptr<base> unique = std::make_unique<one>();
  CHECK(round_trip(unique)->kind() == 1);
}

TEST_CASE("JSON written by others is read: any order of names, white space, escapes") {
  const auto value = archive::deserialize<named>(
      " { \"value0\" :\n{\"the\\u0020second\" : \"\\u00fc\\uD83D\\ude00\\/\\t\" , \"value2\":[ ],"
      "\"more\":null, \"first\" : 1 }\t} ");
  CHECK(value.first == 1);
  CHECK(value.second == "\u00fc\U0001f600/\t");
}

TEST_CASE("JSON that is not such a value is rejected with its position") {
  CHECK(complaint<int>("") ==
        "malformed JSON: the end at position 0 of 0, where a value is expected");
  CHECK(complaint<int>(R"({"value0":5} x)") ==
        "malformed JSON: character 120 at position 13 of 14, where the end is expected");
  CHECK(complaint<std::uint8_t>(R"({"value0":256})") ==
        "malformed JSON: '256' at position 10 is out of the range of its unsigned type");
  CHECK(complaint<int>(R"({"value0":1.5})").find("is not a number of 64 bits with sign") !=
        std::string::npos);
  CHECK(complaint<bool>(R"({"value0":1})") ==
        "malformed JSON: '1' at position 10 is not true or false");
  CHECK(complaint<int>("[]") == "malformed JSON: '[]' at position 0 is not an object");
  CHECK(complaint<int>("{}") ==
        "malformed JSON: '{}' at position 0 has only 0 members, 1 are needed");
  CHECK(complaint<named>(R"({"value0":{"first":1}})").find("has no member 'the second'") !=
        std::string::npos);
  CHECK(complaint<std::array<int, 2>>(R"({"value0":[1,2,3]})").find("the last element") !=
        std::string::npos);
  CHECK(complaint<std::shared_ptr<int>>(R"({"value0":{"id":4}})").find("shared object 4") !=
        std::string::npos);
  for (const char* bad : {R"({"value0":01})", R"({"value0":+1})", R"({"value0":1.})", "{'value0':1}",
                          R"({"value0":1,})", R"({"value0":tru})", "{\"value0\":\"\t\"}",
                          R"({"value0":"\x"})", R"({"value0":"\u12"})", R"({"value0":"\ud800"})",
                          R"({"value0":"\udc00"})", R"({"value0":"\)", R"({"value0":[1 2]})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(archive::deserialize<int>(bad), cppless::rejected);
  }
}

TEST_CASE("JSON of too many levels is rejected before it is read, and never written") {
  CHECK(complaint<int>(std::string(100'000, '[')) ==
        "malformed JSON: more than 1000 levels at position 1000");
  tree deep;
  for (int i = 0; i < 600; ++i) {
    tree outer;
    outer.children.push_back(std::move(deep));
    deep = std::move(outer);
  }
  CHECK_THROWS_AS(archive::serialize(deep), cppless::rejected);
  tree less;
  for (int i = 0; i < 300; ++i) {
    tree outer;
    outer.children.push_back(std::move(less));
    less = std::move(outer);
  }
  const std::string json = archive::serialize(less);
  CHECK(archive::serialize(archive::deserialize<tree>(json)) == json);
}
