// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "task/fiber_waits.hpp"

namespace cppless::fiber::detail {

/// How fibers wait for dispatched tasks. One for the process.
cppless::detail::fiber_waits& task_waits() noexcept;

}  // namespace cppless::fiber::detail
