// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <cppless/detached.hpp>
#include <cppless/detail/task/job.hpp>

#include "base/file_descriptor.hpp"

/// The user's folder of detached tasks: a folder for each, with its `keeper`, `log` and `result`.
/// docs/formats/detached.md

namespace cppless::detail {

/// How a detached task ended, as its result file says.
struct detached_outcome {
  std::string result_type;
  bytes result;                      ///< Where it did not fail.
  std::optional<failure> reason;
};

/// A file's whole content for an outcome.
bytes encode_outcome(const detached_outcome& outcome);

/// Throws `rejected` if the bytes are not what `encode_outcome` makes.
detached_outcome decode_outcome(std::span<const std::byte> file);

/// What stands in its head. Tells a damaged file, not a forged one.
std::uint64_t hash_of_outcome(std::uint32_t has_failed, std::span<const std::byte> body) noexcept;

class detached_spool {
 public:
  /// The user's; made if it is not there and `makes` says so. Throws `rejected` if it is somebody
  /// else's, or open to others.
  static detached_spool open(bool makes);

  const std::string& path() const noexcept { return path_; }
  std::string folder_of(const detached_key& task) const;
  std::string log_of(const detached_key& task) const { return folder_of(task) + "/log"; }

  /// A folder for a new task.
  detached_key add() const;

  /// Takes the lock by which others see that this process keeps the task; for as long as it lives.
  void keep(const detached_key& task, std::string_view task_name) const;

  /// The process that keeps the task; 0 if there is none.
  pid_t keeper_of(const detached_key& task) const;

  bool is_known(const detached_key& task) const;

  /// Writes how the task ended, whole or not at all. False if that is known already.
  bool write(const detached_key& task, const detached_outcome& outcome) const;

  /// Nothing if there is no result. Throws `rejected` if it is damaged.
  std::optional<detached_outcome> read(const detached_key& task) const;

  /// Whether it has a result file.
  bool has_ended(const detached_key& task) const;

  /// False if somebody else has.
  bool remove(const detached_key& task) const;

  /// Removes what has ended 7 days ago or before.
  void remove_old() const;

 private:
  explicit detached_spool(std::string path) : path_(std::move(path)) {}

  std::string path_;  ///< Empty: there is none.
};

std::string id_text(const detached_key& key);
std::optional<detached_key> key_from(std::string_view text) noexcept;

}  // namespace cppless::detail
