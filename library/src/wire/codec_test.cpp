// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/codec.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace cppless::detail;

namespace {

/// Notes in which order its objects go.
struct witness {
  witness() = default;
  witness(witness&& other) noexcept : number(std::exchange(other.number, 0)) {}
  witness& operator=(const witness&) = delete;
  ~witness() {
    if (number != 0) gone.push_back(number);
  }
  template <class Archive>
  void save(Archive& archive) const {
    archive(number);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(number);
    if (number < 0) throw std::runtime_error("negative");
  }
  static inline std::vector<int> gone;
  int number = 0;
};

/// Counts how often it had to make room.
class counting final : public sink {
 public:
  int grown = 0;
  std::vector<std::byte> memory;

 private:
  void grow(std::size_t more) override {
    ++grown;
    const std::size_t used = size();
    memory.resize(used + more);
    begin_ = memory.data();
    cur_ = begin_ + used;
    end_ = begin_ + memory.size();
  }
};

struct three {
  alignas(witness) std::byte rooms[3][sizeof(witness)];
  void* const places[4] = {rooms[0], rooms[1], rooms[2], nullptr};
};

}  // namespace

TEST_CASE("values of several types make room in one step and come back") {
  const std::vector<int> numbers(1000, 7);
  const std::string text(5000, 'x');
  const double ratio = 0.5;
  const void* const from[] = {&numbers, &text, &ratio, nullptr};
  counting out;
  encode_values(out, codecs_of<std::vector<int>, std::string, double>, from);
  CHECK(out.grown == 1);

  std::vector<int> new_numbers;
  std::string new_text;
  source in(out.data(), out.size());
  decode_into(in, new_numbers);
  decode_into(in, new_text);
  CHECK(new_numbers == numbers);
  CHECK(new_text == text);
  CHECK(decode<double>(in) == ratio);
  in.finish();
}

TEST_CASE("decoded values go in reverse, also when a later one throws") {
  witness::gone.clear();
  for (const int third : {3, -3}) {
    heap_sink out;
    for (const int number : {1, 2, third}) encode(out, number);  // as a witness is encoded
    source in(out.data(), out.size());
    three room;
    const auto decode_all = [&] {
      decoded_values values(in, codecs_of<witness, witness, witness>, room.places);
      CHECK(witness::gone.empty());
      CHECK(reinterpret_cast<const witness*>(room.rooms[1])->number == 2);
    };
    if (third > 0) {
      decode_all();
      CHECK(witness::gone == std::vector<int>{3, 2, 1});
    } else {
      CHECK_THROWS_AS(decode_all(), std::runtime_error);
      CHECK(witness::gone == std::vector<int>{-3, 2, 1});  // -3 by the one who could not load it
    }
    witness::gone.clear();
  }
}
