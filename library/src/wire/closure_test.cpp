// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/codec.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace cppless::detail;

namespace {

int alive = 0;

/// Counts its objects; one with the text "bad" cannot be decoded.
struct counted {
  explicit counted(std::string t = "") : text(std::move(t)) { ++alive; }
  counted(counted&& other) : text(std::move(other.text)) { ++alive; }
  ~counted() { --alive; }
  counted& operator=(const counted&) = delete;
  template <class Archive>
  void save(Archive& archive) const {
    archive(text);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(text);
    if (text == "bad") throw std::runtime_error("bad");
  }
  std::string text;
};

/// What the plugin makes of [first, second = counted, third = counted, shared, again = shared].
class closure {
 public:
  closure(std::string a, std::string b, std::string c)
      : first(7),
        second(std::move(a)),
        third(std::move(b)),
        fourth(std::make_shared<std::string>(std::move(c))),
        fifth(fourth) {}
  static constexpr int capture_count() { return 5; }
  template <int I>
  auto& capture() {
    if constexpr (I == 0) {
      return first;
    } else if constexpr (I == 1) {
      return second;
    } else if constexpr (I == 2) {
      return third;
    } else if constexpr (I == 3) {
      return fourth;
    } else {
      return fifth;
    }
  }
  const int first;
  counted second, third;
  std::shared_ptr<std::string> fourth, fifth;
};

template <class F>
struct rebuilt {
  explicit rebuilt(source& in) {
    decode_at(in, storage.place());
    storage.mark_alive();
  }
  F& operator*() { return *storage; }
  F* operator->() { return storage.place(); }

  storage_for<F> storage;
};

}  // namespace

TEST_CASE("a closure is rebuilt capture by capture, shared objects stay shared") {
  closure original("a", "b", "a text that is long enough for the heap");
  heap_sink sink;
  encode(sink, original);
  source in(sink.data(), sink.size());
  rebuilt<closure> copy(in);
  in.finish();
  CHECK(copy->first == 7);
  CHECK((*copy).third.text == "b");
  CHECK(*copy->fourth == "a text that is long enough for the heap");
  CHECK(copy->fourth == copy->fifth);
}

TEST_CASE("captures already built are destroyed once when a later one throws") {
  REQUIRE(alive == 0);
  for (const char* third : {"b", "bad"}) {
    closure original("a", third, "c");
    heap_sink sink;
    encode(sink, original);
    const int before = alive;
    for (std::size_t n = 0; n < sink.size(); ++n) {
      source in(sink.data(), n);
      CHECK_THROWS(rebuilt<closure>(in));
      CHECK(alive == before);
    }
  }
  CHECK(alive == 0);
}

#if defined(__CPPLESS_PLUGIN__)
TEST_CASE("lambdas inside lambdas come back") {
  const std::string text = "a text that is long enough for the heap";
  const auto inner = [text, numbers = std::vector<int>{1, 2, 3}](int x) {
    return static_cast<int>(text.size() + numbers.size()) + x;
  };
  auto outer = [inner, many = std::vector{inner, inner},
                owned = std::make_unique<int>(5)](int x) mutable {
    return inner(x) + many[1](x) + (*owned)++;
  };
  heap_sink sink;
  encode(sink, outer);
  source in(sink.data(), sink.size());
  rebuilt<decltype(outer)> copy(in);
  in.finish();
  CHECK((*copy)(1) == outer(1));
  CHECK((*copy)(2) == outer(2));
}
#endif
