// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <cppless/detail/task/job.hpp>

namespace cppless::detail {

/// Writes all that is known of a job that is about to be published, and forgets it.
void write_trace(job& done, unsigned instance) noexcept;

/// Writes a try that came to nothing, `sent` (ticks) until now: of a job that will be tried again,
/// or whose outcome follows.
void write_lost_try(const job& lost, unsigned instance, unsigned number, std::uint64_t sent,
                    std::string_view outcome, std::string_view why) noexcept;

/// Of a task dispatched by a task: that one's process has decoded the outcome. Times are ticks.
void write_remote_decoding(task_id id, unsigned instance, std::uint64_t process,
                           std::uint64_t begin, std::uint64_t end) noexcept;

/// Says how many workers instance `instance` has.
void write_workers(unsigned instance, unsigned workers) noexcept;

/// Gives a process of the picture its name.
void name_trace_process(std::uint64_t process, std::string_view name) noexcept;

}  // namespace cppless::detail
