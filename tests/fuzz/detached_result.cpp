// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include "process/detached_spool.hpp"

/// What a program reads that collects a detached task. An input of the first kind is a whole file, one
/// of the others gets a head that fits.
namespace {

using namespace cppless::detail;

// A file with the right size and hash around these bytes.
cppless::bytes with_head(std::string_view body, bool has_failed) {
  cppless::bytes file = encode_outcome({{}, {}, std::nullopt});
  const std::size_t head = file.size() - 8;  // but for the empty name
  const std::uint64_t size = body.size();
  const std::uint64_t hash = hash_of_outcome(has_failed, std::as_bytes(std::span(body)));
  file.resize(head + body.size());
  file[12] = std::byte{has_failed};
  std::memcpy(file.data() + 16, &size, sizeof size);
  std::memcpy(file.data() + 24, &hash, sizeof hash);
  if (!body.empty()) std::memcpy(file.data() + head, body.data(), body.size());
  return file;
}

void check_file(std::span<const std::byte> file) {
  const detached_outcome outcome = decode_outcome(file);
  const cppless::bytes again = encode_outcome(outcome);
  if (!(again == cppless::bytes(file))) fuzz::fail("another file means the same");
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  const auto body = [](char kind, const cppless::bytes& file) {
    return kind + std::string(file.view().substr(32));
  };
  const cppless::bytes done =
      encode_outcome({"long", cppless::bytes(std::string_view("12345678")), std::nullopt});
  const cppless::bytes failed = encode_outcome(
      {"void", {}, failure{cppless::error_kind::timeout, "too long", "std::error"}});
  return {'\0' + std::string(done.view()), '\0' + std::string(failed.view()), body('\1', done),
          body('\2', failed)};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (kind % 3 == 0) return check_file({data, size});
    check_file(with_head(text, kind % 3 == 2));
  } catch (const cppless::rejected&) {
  }
}

}  // namespace fuzz
