// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cppless::detail {

/// A program started with this in its environment names its tasks and ends before its `main`.
inline constexpr const char* task_list_variable = "CPPLESS_LIST_TASKS";

/// Writes this image's tasks to `file` (docs/formats/tasks.md); the process's exit status.
int write_task_list(const char* file);

}  // namespace cppless::detail
