// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <cppless/detail/wire/codec.hpp>

#include <cereal/types/forward_list.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/queue.hpp>

#include <memory>
#include <set>
#include <utility>

/// Values with users' functions, shared and polymorphic pointers, and closures.
namespace {

/// Malformed data may make nodes own each other, whether it is rejected in the end or not. That is
/// what shared pointers are, not a leak of the library: each input ends with `break_cycles`.
struct node {
  static inline std::set<node*> alive;
  node() { alive.insert(this); }
  ~node() { alive.erase(this); }
  node(const node&) = delete;

  static void break_cycles() {
    std::vector<std::shared_ptr<node>> owned;
    for (node* each : alive) {
      for (auto& child : std::exchange(each->children, {})) owned.push_back(std::move(child));
    }
  }

  std::string name;
  std::vector<std::shared_ptr<node>> children;
  std::weak_ptr<node> parent;
  std::shared_ptr<int> number;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, children, parent, number);
  }
};

struct base {
  virtual ~base() = default;
  int x = 1;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x);
  }
};
struct left : base {
  std::vector<std::string> words;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<base>(this), words);
  }
};
struct right : base {
  explicit right(std::string t) : text(std::move(t)) {}
  std::string text;
  std::unique_ptr<base> inner;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text, inner);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<right>& construct) {
    std::string text;
    archive(text);
    construct(text);
    archive(construct->inner);
  }
};
struct stranger_base {
  virtual ~stranger_base() = default;
  virtual void be() const = 0;
};
struct stranger : stranger_base {
  void be() const override {}
  std::string text = "a stranger to `base`, long enough for the heap";
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};

struct versioned {
  int a = 0;
  std::vector<int> since_1;
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    archive(a);
    if (version > 0) archive(since_1);
  }
};

struct built {
  explicit built(int) {}
  std::string text;
  template <class Archive>
  void save(Archive& archive) const {
    archive(1, text);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<built>& construct) {
    int x;
    archive(x);
    construct(x);
    archive(construct->text);
  }
};

/// What the plugin makes of a lambda.
class closure {
 public:
  closure(std::string text, int number, std::vector<std::string> words)
      : text_(std::move(text)), number_(number), words_(std::move(words)) {}
  static constexpr int capture_count() { return 4; }
  template <int I>
  auto& capture() {
    if constexpr (I == 0) {
      return text_;
    } else if constexpr (I == 1) {
      return number_;
    } else if constexpr (I == 2) {
      return words_;
    } else {
      return shared_;
    }
  }

 private:
  std::string text_;
  const int number_;
  std::vector<std::string> words_;
  std::shared_ptr<std::string> shared_ = std::make_shared<std::string>("shared");
};

using pointers = std::pair<std::vector<std::shared_ptr<base>>, std::unique_ptr<base>>;
using constructed = std::tuple<std::vector<built>, std::shared_ptr<built>, std::unique_ptr<built>,
                               std::shared_ptr<const std::string>>;
using through_cereal =
    std::tuple<std::queue<int>, std::forward_list<std::string>, std::vector<versioned>>;

pointers sample_pointers() {
  auto l = std::make_shared<left>();
  l->words = {"one", "two"};
  auto r = std::make_shared<right>("text");
  r->inner = std::make_unique<left>();
  pointers made;
  made.first = {l, r, nullptr, l};
  made.second = std::make_unique<right>("unique");
  return made;
}

std::shared_ptr<node> sample_node() {
  auto root = std::make_shared<node>();
  root->name = "root";
  root->number = std::make_shared<int>(1);
  root->children = {std::make_shared<node>(), nullptr};
  root->children[0]->parent = root;
  root->children[0]->number = root->number;
  return root;
}

void check_nodes(const std::byte* data, std::size_t size) {
  std::shared_ptr<node> root;
  try {
    cppless::binary_archive::deserialize({data, size}, root);
    cppless::binary_archive::serialize(root);
  } catch (const cppless::rejected&) {
  }
  node::break_cycles();
}

void check_closure(const std::byte* data, std::size_t size) {
  try {
    cppless::detail::source in(data, size);
    cppless::detail::storage_for<closure> storage;
    cppless::detail::decode_at(in, storage.place());
    storage.mark_alive();
    in.finish();
    cppless::detail::heap_sink sink;
    cppless::detail::encode(sink, *storage);
  } catch (const cppless::rejected&) {
  }
}

}  // namespace

CEREAL_CLASS_VERSION(versioned, 1)
CEREAL_REGISTER_TYPE(left)
CEREAL_REGISTER_TYPE(right)
CEREAL_REGISTER_TYPE(stranger)
CEREAL_REGISTER_POLYMORPHIC_RELATION(base, right)
CEREAL_REGISTER_POLYMORPHIC_RELATION(stranger_base, stranger)

namespace fuzz {

seeds make_seeds() {
  built b(1);
  b.text = "a text that is long enough for the heap";
  const constructed c(std::vector<built>{b, b}, std::make_shared<built>(b),
                      std::make_unique<built>(b), std::make_shared<const std::string>("s"));
  std::vector<std::unique_ptr<stranger_base>> strangers;
  strangers.push_back(std::make_unique<stranger>());
  const closure f("captured", 2, {"a", "b"});
  return {seed(0, sample_node()),
          seed(1, sample_pointers()),
          seed(1, strangers),
          seed(2, c),
          seed(3, through_cereal{std::queue<int>({1, 2}), {"x"}, {{1, {2}}, {3, {}}}}),
          seed(4, f)};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  switch (kind % 5) {
    case 0: return check_nodes(data, size);
    case 1: return check<pointers>(data, size);
    case 2: return check<constructed>(data, size);
    case 3: return check<through_cereal>(data, size);
    case 4: return check_closure(data, size);
  }
}

}  // namespace fuzz
