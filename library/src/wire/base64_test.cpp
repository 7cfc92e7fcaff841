// SPDX-License-Identifier: Apache-2.0
#include "wire/base64.hpp"

#include <cppless/errors.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace cppless::detail;

namespace {

std::string encoded(const std::string& text) {
  std::string result(base64_size(text.size()), '?');
  base64_encode(reinterpret_cast<const std::byte*>(text.data()), text.size(), result.data());
  return result;
}

std::string decoded(const std::string& text) {
  std::string result(base64_decoded_size(text.data(), text.size()), '?');
  base64_decode(text.data(), text.size(), reinterpret_cast<std::byte*>(result.data()));
  return result;
}

std::string message_of(const std::string& text) {
  try {
    decoded(text);
  } catch (const cppless::rejected& error) {
    return error.what();
  }
  return "accepted";
}

std::string random_bytes(std::size_t n, std::mt19937& random) {
  std::string result(n, 0);
  for (char& c : result) c = static_cast<char>(random());
  return result;
}

}  // namespace

TEST_CASE("base64 gives the test vectors of RFC 4648") {
  CHECK(encoded("") == "");
  CHECK(encoded("f") == "Zg==");
  CHECK(encoded("fo") == "Zm8=");
  CHECK(encoded("foo") == "Zm9v");
  CHECK(encoded("foob") == "Zm9vYg==");
  CHECK(encoded("fooba") == "Zm9vYmE=");
  CHECK(encoded("foobar") == "Zm9vYmFy");
  CHECK(encoded("\xfb\xff\xbf") == "+/+/");
}

TEST_CASE("base64 of every length up to 300 is what the scalar code makes, and comes back") {
  std::mt19937 random(1);
  for (std::size_t n = 0; n <= 300; ++n) {
    const std::string text = random_bytes(n, random);
    std::string scalar(base64_size(n), '?');
    base64_encode_scalar(reinterpret_cast<const std::byte*>(text.data()), n, scalar.data());
    REQUIRE(encoded(text) == scalar);
    REQUIRE(decoded(scalar) == text);
    std::string back(n, '?');
    base64_decode_scalar(scalar.data(), scalar.size(), reinterpret_cast<std::byte*>(back.data()));
    REQUIRE(back == text);
  }
}

TEST_CASE("base64 covers the whole alphabet in each lane of the vector code") {
  std::string text;
  for (int i = 0; i < 64; ++i) {
    for (int lane = 0; lane < 4; ++lane) {
      text += static_cast<char>(i << 2 | i >> 4);
      text += static_cast<char>(i << 4 | i >> 2);
      text += static_cast<char>(i << 6 | i);
    }
  }
  CHECK(encoded(text).substr(0, 16) == "AAAAAAAAAAAAAAAA");
  CHECK(encoded(text).substr(encoded(text).size() - 16) == "////////////////");
  CHECK(decoded(encoded(text)) == text);
}

TEST_CASE("base64 rejects each foreign character at each position and names both") {
  const std::string good = encoded(std::string(96, 'x'));
  REQUIRE(good.size() == 128);
  for (std::size_t position = 0; position < good.size(); ++position) {
    for (int c = 0; c < 256; ++c) {
      std::string bad = good;
      bad[position] = static_cast<char>(c);
      const bool in_alphabet = std::isalnum(c) != 0 || c == '+' || c == '/';
      if (in_alphabet || (c == '=' && position == 127)) continue;
      const std::string expected = "malformed base64: character " + std::to_string(c) +
                                   " at position " + std::to_string(position) + " ";
      REQUIRE(message_of(bad).substr(0, expected.size()) == expected);
    }
  }
}

TEST_CASE("base64 rejects wrong lengths, padding in the middle and bits behind the end") {
  CHECK(message_of("Zg=") == "malformed base64: 3 characters, a multiple of 4 is required");
  CHECK(message_of("Zg==Zg==").find("at position 2 ") != std::string::npos);
  CHECK(message_of("Zh==").find("at position 1 ") != std::string::npos);
  CHECK(message_of("Zm9=").find("at position 2 ") != std::string::npos);
  CHECK(message_of("====").find("at position 0 ") != std::string::npos);
  CHECK(message_of("Z===").find("at position 1 ") != std::string::npos);
  CHECK(message_of("Zm=v").find("at position 2 ") != std::string::npos);
}
