// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace platform::state {

inline constexpr const char* latest = "$LATEST";

/// One version of a function: what a request runs with.
struct function_version {
  std::string version = latest;
  std::string runtime;
  std::string role;
  std::string handler;
  std::string description;
  std::string code_sha256;  ///< hex; the name of the unpacked directory and of the zip beside it
  std::uint64_t code_size = 0;
  unsigned timeout_seconds = 3;
  unsigned memory_mb = 128;
  unsigned ephemeral_mb = 512;
  std::string architecture = "x86_64";
  std::map<std::string, std::string> environment;
  std::string tracing = "PassThrough";
  std::string last_modified;  ///< as AWS writes it
  std::string revision;       ///< a UUID, another one after each change
};

struct alias {
  std::string version;
  std::string description;
  std::string revision;
};

/// What is done about asynchronous invocations that fail.
struct event_policy {
  unsigned retries = 2;
  unsigned max_age_seconds = 21600;
};

struct function {
  std::string name;
  function_version current;  ///< $LATEST
  std::map<std::uint64_t, function_version> published;
  std::uint64_t next_version = 1;
  std::map<std::string, alias> aliases;
  std::optional<unsigned> reserved_concurrency;
  std::optional<event_policy> events;
  std::map<std::string, std::string> tags;

  /// $LATEST, a number or an alias; null if there is none.
  const function_version* find(std::string_view qualifier) const;
};

/// A file of the state is missing or not what was written; what() names it.
class damaged : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

/// All functions, kept in one file that is replaced at each change, and their code beside it
/// (docs/formats/platform_state.md). Not thread-safe but for add_code.
class account {
 public:
  /// Opens or, in an empty directory, makes the state. Throws `damaged` rather than guess.
  explicit account(std::filesystem::path directory);

  std::map<std::string, function>& functions() { return functions_; }
  const std::map<std::string, function>& functions() const { return functions_; }
  function* find(std::string_view name);
  /// Writes the state; what has returned survives a crash.
  void save();

  /// Unpacks a zip (unless its content is there already) and returns its SHA-256 in hex. Throws as
  /// unpack_archive. May be called from another thread than the rest.
  std::string add_code(const std::string& zip, std::uint64_t unpacked_limit) const;
  std::filesystem::path code_directory() const { return directory_ / "code"; }
  std::filesystem::path code_zip(const std::string& sha256) const { return directory_ / "code" / (sha256 + ".zip"); }
  /// Removes code that neither a function nor `used` names and that is older than a minute.
  void collect_garbage(const std::set<std::string>& used) const;

 private:
  void load(const std::string& text);
  std::filesystem::path directory_;
  std::map<std::string, function> functions_;
};

}  // namespace platform::state
