// SPDX-License-Identifier: Apache-2.0
#include "wire/round_trip.hpp"

#include <cppless/detail/wire/binary.hpp>

#include <string>
#include <utility>
#include <vector>

using cppless::bytes;
using namespace cppless::detail;

TEST_CASE("bytes are copied, moved, compared and grown with their content") {
  bytes a("hello", 5);
  bytes b = a;
  CHECK(a == b);
  CHECK(a.data() != b.data());
  b[0] = std::byte{'j'};
  CHECK_FALSE(a == b);
  b.resize(3);
  CHECK(b.view() == "jel");
  b.resize(5);
  CHECK(b.view().substr(0, 3) == "jel");
  b.resize(0);
  CHECK(b.empty());
  CHECK(b == bytes());
  const auto* place = a.data();
  bytes c = std::move(a);
  CHECK(c.data() == place);
  CHECK(a.empty());
  const bytes& same = c;
  c = same;
  CHECK(c.view() == "hello");
}

TEST_CASE("a heap sink keeps what is written while it grows, and gives it away once") {
  heap_sink sink;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 17), static_cast<char>('a' + i % 26));
    sink.write(piece.data(), piece.size());
    expected += piece;
  }
  CHECK(sink.size() == expected.size());
  CHECK(sink.release().view() == expected);
  CHECK(sink.size() == 0);
  CHECK(sink.release().empty());
}

TEST_CASE("a small sink moves from its own memory to the heap") {
  small_sink<16> sink;
  encode(sink, std::string("0123456"));
  CHECK(sink.size() == 15);
  encode(sink, std::string(1000, 'x'));
  source in(sink.data(), sink.size());
  CHECK(decode<std::string>(in) == "0123456");
  CHECK(decode<std::string>(in) == std::string(1000, 'x'));
  in.finish();
}

TEST_CASE("a truncated sink forgets what came later") {
  heap_sink sink;
  encode(sink, 1);
  const auto mark = sink.size();
  encode(sink, std::string("partial"));
  sink.truncate(mark);
  encode(sink, 2);
  source in(sink.data(), sink.size());
  CHECK(decode<int>(in) == 1);
  CHECK(decode<int>(in) == 2);
  in.finish();
}

TEST_CASE("a counting sink counts what another would hold") {
  const std::vector<std::pair<int, std::string>> value{{1, "one"}, {2, std::string(5000, 'x')}};
  counting_sink counted;
  heap_sink real;
  encode(counted, value);
  encode(real, value);
  CHECK(counted.count() == real.size());
}

TEST_CASE("large numbers of large objects are not made up by a few bytes") {
  struct large {
    std::optional<std::array<char, 100'000>> maybe;
  };
  heap_sink sink;
  encode(sink, std::uint64_t{50});
  for (int i = 0; i < 49; ++i) encode(sink, true);  // nothing
  source in(sink.data(), sink.size());
  CHECK_THROWS_AS(decode<std::vector<large>>(in), cppless::rejected);
}

TEST_CASE("JSON strings longer than the window come back, whatever is read in one piece") {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < 3000; ++i) words.emplace_back(i * 7 % 101, static_cast<char>(i));
  words.emplace_back(100'000, 'y');
  words.emplace_back(5, 'z');
  const auto json = cppless::json_binary_archive::serialize(words);
  CHECK(cppless::json_binary_archive::deserialize<std::vector<std::string>>(json) == words);
  for (std::size_t n = 0; n < 200'000; n = n * 2 + 1) {
    std::pair<std::vector<std::uint16_t>, cppless::bytes> pair{std::vector<std::uint16_t>(n, 0xabc),
                                                               cppless::bytes(n)};
    for (auto& each : pair.second) each = std::byte{0x5a};
    const auto text = cppless::json_binary_archive::serialize(pair);
    CHECK(cppless::json_binary_archive::deserialize<decltype(pair)>(text) == pair);
    CHECK(text == to_json_base64(cppless::binary_archive::serialize(pair)));
  }
}

TEST_CASE("JSON around a value is a string, white space apart") {
  using archive = cppless::json_binary_archive;
  CHECK(archive::serialize(std::uint8_t{255}) == "\"/w==\"");
  CHECK(archive::deserialize<std::uint8_t>(" \n\"/w==\"\t") == 255);
  for (const char* bad : {"", "\"", "/w==", "\"/w==", "{}", "\"/w=\"", "\"/w==\"x", "\"\"", "  "}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(archive::deserialize<std::uint8_t>(bad), cppless::rejected);
  }
}
