// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <cppless/json_structured_archive.hpp>

#include <cereal/types/polymorphic.hpp>

#include <map>
#include <memory>
#include <string_view>
#include <variant>

/// JSON that people may have written.
namespace {

struct inner {
  std::string text;
  double number;
  char tag[2];
};
struct outer {
  std::vector<inner> many;
  std::map<std::string, std::optional<bool>> named;
  std::variant<int, std::string, inner> either;
  cppless::bytes raw;
  std::pair<std::uint8_t, std::wstring> pair;
};
struct tree {
  std::vector<tree> children;
  std::unique_ptr<tree> next;
};
struct base {
  virtual ~base() = default;
  int x = 1;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(x));
  }
};
struct derived : base {
  explicit derived(std::string t) : text(std::move(t)) {}
  std::string text;
  std::unique_ptr<base> other;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(text), CEREAL_NVP(other));
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<derived>& construct) {
    std::string text;
    archive(CEREAL_NVP(text));
    construct(text);
    archive(cereal::make_nvp("other", construct->other));
  }
};
struct stranger {
  virtual ~stranger() = default;
  std::string text = "not derived from base, long enough for the heap";
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    if (version < 5) archive(CEREAL_NVP(text));
  }
};

using pointers = std::tuple<std::vector<std::shared_ptr<base>>, std::unique_ptr<base>,
                            std::shared_ptr<const int>>;

template <class T>
std::string as_json(unsigned kind, const T& value) {
  return static_cast<char>(kind) + cppless::json_structured_archive::serialize(value);
}

template <class T>
void check_json(std::string_view json) {
  using archive = cppless::json_structured_archive;
  try {
    const T value = archive::deserialize<T>(json);
    const std::string once = archive::serialize(value);
    if (archive::serialize(archive::deserialize<T>(once)) != once) fuzz::fail("not stable");
  } catch (const cppless::rejected&) {
  }
}

}  // namespace

CEREAL_REGISTER_TYPE(base)
CEREAL_REGISTER_TYPE(derived)
CEREAL_REGISTER_TYPE(stranger)
CEREAL_REGISTER_POLYMORPHIC_RELATION(base, derived)

namespace fuzz {

seeds make_seeds() {
  const outer o{{{"a\"\\\n", 1.5, {'x', 'y'}}},
                {{"on", true}, {"unknown", {}}},
                inner{"i", 2, {}},
                cppless::bytes("raw", 3),
                {7, L"wide"}};
  tree t;
  t.children.resize(2);
  t.next = std::make_unique<tree>();
  auto d = std::make_shared<derived>("text");
  d->other = std::make_unique<base>();
  pointers p;
  std::get<0>(p) = {d, nullptr, d, std::make_shared<base>()};
  std::get<1>(p) = std::make_unique<derived>("u");
  std::get<2>(p) = std::make_shared<const int>(4);
  return {as_json(0, o), as_json(1, t), as_json(2, p),
          as_json(2, std::make_unique<stranger>()), as_json(3, std::vector<double>{1, 0.1})};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  switch (kind % 4) {
    case 0: return check_json<outer>(json);
    case 1: return check_json<tree>(json);
    case 2: return check_json<pointers>(json);
    case 3: return check_json<std::vector<double>>(json);
  }
}

}  // namespace fuzz
