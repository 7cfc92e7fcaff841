// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace platform {

/// Runs the platform until SIGTERM or SIGINT. Throws what keeps it from starting.
void run_server(const options& wanted);

}  // namespace platform
