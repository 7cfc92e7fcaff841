// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cppless::detail {

/// Runs the process: as a worker if it was started as one, else the program's own `main`.
int run_program(int argc, char** argv, int (*program_main)(int, char**));

/// Whether this process was entered through `run_program`, so that copies of it can be workers.
bool can_start_workers() noexcept;

}  // namespace cppless::detail
