// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cppless {

/// What one invocation may use; 0 is "no limit of its own". With `CPPLESS_STRICT=1` in the
/// environment, limits a task leaves open become AWS Lambda's defaults, 1,024 MB and 10 s.
struct task_limits {
  std::uint64_t memory_bytes = 0;             ///< Heap the task may add to its worker.
  std::uint64_t timeout_ns = 0;               ///< Time one attempt may run.
  std::uint64_t deadline_ns = 0;              ///< Time from dispatch to result, all attempts together.
  std::uint64_t ephemeral_storage_bytes = 0;  ///< Scratch files; enforced on Lambda only.
  std::uint32_t attempts = 3;                 ///< Runs before a task whose worker dies is `lost`.
};

/// Settings of a task, chosen per call: `dispatch<config>(...)`, `async<config>(...)`.
/// Two configurations of one callable are two functions with two identities. (thesis 4.3.2)
namespace lambda {

/// Memory in MB (10^6 is not meant: 2^20 bytes, as on Lambda), 1 to 10,240.
template <unsigned Megabytes>
struct with_memory {
  static_assert(Megabytes >= 1 && Megabytes <= 10240, "memory must be 1 to 10240 MB");
  static constexpr unsigned memory = Megabytes;
};

/// Seconds one attempt may run, 1 to 900. A task that takes longer is ended and reports `timeout`.
template <unsigned Seconds>
struct with_timeout {
  static_assert(Seconds >= 1 && Seconds <= 900, "timeout must be 1 to 900 s");
  static constexpr unsigned timeout = Seconds;
};

/// Scratch space in MB, up to 10,240.
template <unsigned Megabytes>
struct with_ephemeral_storage {
  static_assert(Megabytes >= 1 && Megabytes <= 10240, "ephemeral storage must be 1 to 10240 MB");
  static constexpr unsigned ephemeral_storage = Megabytes;
};

/// How often a task is started in all when its worker dies, 1 to 100. Tasks that throw, exceed a
/// limit or are cancelled are never started again.
template <unsigned Count>
struct with_attempts {
  static_assert(Count >= 1 && Count <= 100, "attempts must be 1 to 100");
  static constexpr unsigned attempts = Count;
};

/// Seconds from dispatch to result, waiting and retries included; then `timeout`.
template <unsigned Seconds>
struct with_deadline {
  static_assert(Seconds >= 1, "deadline must be at least 1 s");
  static constexpr unsigned deadline = Seconds;
};

/// A configuration: any of the settings above, each at most once. A struct of your own with static
/// constexpr members of these names (`memory`, `timeout`, ...) serves as well.
template <class... Settings>
struct config : Settings... {};

}  // namespace lambda

namespace detail {

template <class Config>
constexpr task_limits limits_of() {
  constexpr std::uint64_t megabyte = 1024 * 1024;
  constexpr std::uint64_t second = 1'000'000'000;
  task_limits limits;
  if constexpr (requires { Config::memory; }) limits.memory_bytes = Config::memory * megabyte;
  if constexpr (requires { Config::timeout; }) limits.timeout_ns = Config::timeout * second;
  if constexpr (requires { Config::deadline; }) limits.deadline_ns = Config::deadline * second;
  if constexpr (requires { Config::attempts; }) limits.attempts = Config::attempts;
  if constexpr (requires { Config::ephemeral_storage; }) {
    limits.ephemeral_storage_bytes = Config::ephemeral_storage * megabyte;
  }
  return limits;
}

}  // namespace detail
}  // namespace cppless
