// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include <cppless/detail/wire/binary.hpp>

#include "process/detached_spool.hpp"

namespace cppless::detail {
namespace {

constexpr char magic[8] = {'c', 'p', 'p', 'l', 'e', 's', 's', 'D'};
constexpr std::uint32_t version = 1;

struct file_head {
  char magic[8];
  std::uint32_t version;
  std::uint32_t has_failed;
  std::uint64_t size;  ///< Of what follows.
  std::uint64_t hash;  ///< Of has_failed and of that.
};
static_assert(sizeof(file_head) == 32);

}  // namespace

// FNV-1a, eight bytes a step.
std::uint64_t hash_of_outcome(std::uint32_t has_failed, std::span<const std::byte> data) noexcept {
  std::uint64_t hash = 14695981039346656037u;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 32;
  };
  mix(has_failed);
  std::size_t at = 0;
  for (; data.size() - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + at, 8);
    mix(word);
  }
  for (; at < data.size(); ++at) mix(static_cast<std::uint64_t>(data[at]));
  return hash;
}

bytes encode_outcome(const detached_outcome& outcome) {
  heap_sink file;
  file.reserve(sizeof(file_head));
  encode(file, outcome.result_type);
  if (outcome.reason) {
    encode(file, outcome.reason->kind);
    encode(file, outcome.reason->message);
    encode(file, outcome.reason->remote_type);
  } else {
    file.write(outcome.result.data(), outcome.result.size());
  }
  bytes made = file.release();
  const std::span<const std::byte> body(made.data() + sizeof(file_head),
                                        made.size() - sizeof(file_head));
  const std::uint32_t has_failed = outcome.reason ? 1 : 0;
  file_head head{{}, version, has_failed, body.size(), hash_of_outcome(has_failed, body)};
  std::memcpy(head.magic, magic, sizeof magic);
  std::memcpy(made.data(), &head, sizeof head);
  return made;
}

detached_outcome decode_outcome(std::span<const std::byte> file) {
  const auto damaged = [&](const std::string& how) {
    return rejected("the result file is damaged: " + how);
  };
  file_head head{};
  if (file.size() < sizeof head) {
    throw damaged("it has " + std::to_string(file.size()) + " bytes, its head alone takes " +
                  std::to_string(sizeof head));
  }
  std::memcpy(&head, file.data(), sizeof head);
  const std::span<const std::byte> body = file.subspan(sizeof head);
  if (std::memcmp(head.magic, magic, sizeof magic) != 0) throw damaged("it does not begin as one");
  if (head.version != version) {
    throw rejected("the result file is of format " + std::to_string(head.version) +
                   ", this program reads format " + std::to_string(version));
  }
  if (head.size != body.size()) {
    throw damaged("it holds " + std::to_string(body.size()) + " bytes of " +
                  std::to_string(head.size));
  }
  if (head.hash != hash_of_outcome(head.has_failed, body)) throw damaged("its hash is not that of its bytes");
  if (head.has_failed > 1) throw damaged("its outcome is " + std::to_string(head.has_failed));
  source from(body.data(), body.size());
  detached_outcome outcome;
  outcome.result_type = decode<std::string>(from);
  if (head.has_failed == 0) {
    const std::size_t left = from.remaining();
    outcome.result = bytes(from.take(left), left);
    return outcome;
  }
  failure reason;
  reason.kind = decode<error_kind>(from);
  if (reason.kind > error_kind::cancelled) {
    throw damaged("its kind of error is " + std::to_string(static_cast<unsigned>(reason.kind)));
  }
  reason.message = decode<std::string>(from);
  reason.remote_type = decode<std::string>(from);
  from.finish();
  outcome.reason = std::move(reason);
  return outcome;
}

}  // namespace cppless::detail
