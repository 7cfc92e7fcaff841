// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cppless::detail {

/// What travels of an exception that a task threw.
struct described_exception {
  std::string type;  ///< As in the source: "std::out_of_range".
  std::string what;  ///< With those of nested ones; empty where it is no std::exception.
};

/// Of the exception being handled.
described_exception describe_current_exception();

// The sentences of failures, the same for all dispatchers.
std::string failed_text(const char* task, const described_exception& thrown);
std::string out_of_memory_text(const char* task, std::uint64_t limit_bytes);
std::string timeout_text(const char* task, std::uint64_t limit_ns);

}  // namespace cppless::detail
