// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <cppless/detail/task/instance_core.hpp>

/// Detached tasks: a keeper process for each, which outlives the program and has the task run in a
/// child of its own, so that how that ends is known and it can be started again.

namespace cppless::detail {

/// Starts a task's keeper from the program's own image and returns once it is at work.
detached_key start_detached(const entry& what, const char* result_type,
                            std::span<const std::byte> request);

/// What a process does that was started as a keeper. The text is what follows the variable's "=".
int run_detached(const char* key_text);

inline constexpr const char* detached_variable = "CPPLESS_DETACHED_TASK";

}  // namespace cppless::detail
