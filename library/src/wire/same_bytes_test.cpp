// SPDX-License-Identifier: Apache-2.0
#include "wire/round_trip.hpp"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/chrono.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

#include <sstream>

/// cereal's archives read what ours write and the other way round.
namespace {

struct versioned {
  int a = 0;
  std::string b;
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    archive(a);
    if (version >= 2) archive(CEREAL_NVP(b));
  }
};

struct minimal {
  int a = 0;
  template <class Archive>
  std::string save_minimal(const Archive&) const {
    return std::to_string(a);
  }
  template <class Archive>
  void load_minimal(const Archive&, const std::string& text) {
    a = std::stoi(text);
  }
};

struct animal {
  virtual ~animal() = default;
  int legs = 4;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(legs);
  }
};
struct dog : animal {
  std::string name;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<animal>(this), name);
  }
};

enum class choice : short { yes = 1, no = -2 };

template <class T>
void check_same(const T& value) {
  std::ostringstream out;
  {
    cereal::BinaryOutputArchive archive(out);
    archive(value);
  }
  const std::string theirs = out.str();
  const cppless::bytes ours = cppless::binary_archive::serialize(value);
  CHECK(wire_test::hex(ours) == wire_test::hex(cppless::bytes(theirs.data(), theirs.size())));
  std::istringstream in{std::string(ours.view())};
  cereal::BinaryInputArchive archive(in);
  T copy{};
  archive(copy);
  CHECK(cppless::binary_archive::serialize(copy) == ours);
  CHECK(cppless::binary_archive::serialize(cppless::binary_archive::deserialize<T>(ours)) == ours);
}

}  // namespace

CEREAL_CLASS_VERSION(versioned, 2)
CEREAL_REGISTER_TYPE(dog)

TEST_CASE("values have the same bytes as in cereal's binary archive") {
  check_same(std::vector<std::uint32_t>{1, 2, 3});
  check_same(std::vector<bool>{true, false});
  check_same(std::vector<std::vector<std::string>>{{"a"}, {}, {"b", "c"}});
  check_same(std::array<std::string, 2>{"a", "b"});
  check_same(std::array<double, 3>{1, 2, 3});
  check_same(std::deque<int>{1, 2});
  check_same(std::list<std::string>{"x"});
  check_same(std::set<int>{3, 1});
  check_same(std::map<std::string, std::vector<std::optional<int>>>{{"a", {1, {}}}, {"b", {}}});
  check_same(std::multimap<int, bool>{{1, true}, {2, false}});  // cereal reverses equal keys
  check_same(std::tuple<int, double, std::string>{1, 2.5, "x"});
  check_same(std::pair<char, choice>{'a', choice::no});
  check_same(std::variant<int, std::string>{"x"});
  check_same(std::optional<std::string>{"x"});
  check_same(std::chrono::nanoseconds(5));
  check_same(std::chrono::system_clock::now());
  check_same(std::make_unique<std::string>("x"));
  check_same(std::unique_ptr<int>());
}

TEST_CASE("users' functions and shared pointers have the same bytes as in cereal") {
  check_same(std::vector<versioned>{{1, "x"}, {3, "y"}});
  check_same(minimal{12});
  const auto shared = std::make_shared<int>(7);
  check_same(std::vector<std::shared_ptr<int>>{shared, shared, nullptr, std::make_shared<int>(8)});
  const auto object = std::make_shared<versioned>(versioned{1, "z"});
  check_same(std::pair(object, std::vector<std::weak_ptr<versioned>>{object, object}));
}

TEST_CASE("polymorphic pointers have the same bytes as in cereal") {
  const auto rex = std::make_shared<dog>();
  rex->name = "Rex";
  rex->legs = 3;
  check_same(std::vector<std::shared_ptr<animal>>{rex, nullptr, rex, std::make_shared<animal>()});
  std::vector<std::unique_ptr<animal>> unique;
  unique.push_back(std::make_unique<dog>());
  unique.push_back(nullptr);
  check_same(unique);
}
