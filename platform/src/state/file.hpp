// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace platform::state {

/// Replaces the file as a whole: after a crash there is the old or the new one. Throws
/// std::system_error naming the file.
void write_atomically(const std::filesystem::path& file, std::string_view content, mode_t mode);

/// Nothing if there is no such file; throws std::system_error if it cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& file);

}  // namespace platform::state
