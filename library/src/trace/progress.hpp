// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace cppless::detail {

/// Whether waits draw a progress line on standard error: CPPLESS_PROGRESS=auto (a terminal),
/// always or never.
bool progress_is_shown() noexcept;

/// When the line is to be drawn next.
std::chrono::steady_clock::time_point next_progress() noexcept;

/// Draws it if its time has come, or removes it if nothing is left to do. Counts are of the whole run;
/// what had finished when last nothing was left is not shown again. Any thread.
void draw_progress(std::uint64_t finished, std::uint64_t tasks) noexcept;

/// Removes the line, so that other text can take its place.
void clear_progress() noexcept;

}  // namespace cppless::detail
