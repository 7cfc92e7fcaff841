// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "task/fiber_waits.hpp"

namespace cppless::fiber::detail {

/// How fibers wait for dispatched tasks. One for the process.
cppless::detail::fiber_waits& task_waits() noexcept;

/// How much stack may go for walking a deep value, for `nesting_limit`: most of what the calling
/// fiber has left.
std::size_t stack_for_values() noexcept;

}  // namespace cppless::fiber::detail
