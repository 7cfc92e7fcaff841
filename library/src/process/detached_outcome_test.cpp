// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>

#include "process/detached_spool.hpp"

using namespace cppless::detail;
using cppless::bytes;

namespace {

std::string refusal(const bytes& file) {
  try {
    decode_outcome(file);
  } catch (const cppless::rejected& error) {
    return error.what();
  }
  return "";
}

bytes done() { return encode_outcome({"long", bytes(std::string_view("12345678")), std::nullopt}); }
bytes failed() {
  return encode_outcome(
      {"long", {}, failure{cppless::error_kind::task_failed, "it threw", "std::range_error"}});
}

}  // namespace

TEST_CASE("The outcome of a detached task comes back from its file") {
  const detached_outcome result = decode_outcome(done());
  CHECK(result.result_type == "long");
  CHECK(result.result.view() == "12345678");
  CHECK_FALSE(result.reason);
  const detached_outcome reason = decode_outcome(failed());
  REQUIRE(reason.reason);
  CHECK(reason.reason->kind == cppless::error_kind::task_failed);
  CHECK(reason.reason->message == "it threw");
  CHECK(reason.reason->remote_type == "std::range_error");
}

TEST_CASE("A result file that was cut short at any place is refused") {
  for (const bytes& whole : {done(), failed()}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      CHECK(refusal(bytes(whole.data(), size)) != "");
    }
    bytes longer = whole;
    longer.resize(whole.size() + 1);
    CHECK(refusal(longer) != "");
  }
}

TEST_CASE("A result file of which any byte was changed is refused") {
  for (const bytes& whole : {done(), failed()}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int bit : {1, 0x80}) {
        bytes changed = whole;
        changed[at] ^= static_cast<std::byte>(bit);
        CAPTURE(at);
        CHECK(refusal(changed) != "");
      }
    }
  }
}

TEST_CASE("A refused result file is told apart by what is wrong with it") {
  const auto says = [](const std::string& text, const std::function<void(bytes&)>& change) {
    bytes file = failed();
    change(file);
    CAPTURE(refusal(file));
    CHECK(refusal(file).find(text) != std::string::npos);
  };
  says("does not begin as one", [](bytes& file) { file[0] = std::byte{'x'}; });
  says("format 7, this program reads format 1", [](bytes& file) { file[8] = std::byte{7}; });
  says("its head alone takes 32", [](bytes& file) { file.resize(31); });
  says("bytes of", [](bytes& file) { file.resize(file.size() - 1); });
  says("its hash", [](bytes& file) { file[file.size() - 1] ^= std::byte{1}; });
}

TEST_CASE("The ids of detached tasks are read as they are written, and nothing else is") {
  const detached_key key{0x00, 0x01, 0xab, 0xff};
  CHECK(id_text(key) == "0001abff000000000000000000000000");
  CHECK(key_from(id_text(key)) == key);
  CHECK_FALSE(key_from(""));
  CHECK_FALSE(key_from("0001abff00000000000000000000000"));
  CHECK_FALSE(key_from("0001ABFF000000000000000000000000"));
  CHECK_FALSE(key_from("../../../../../../../etc/passwd0"));
}
