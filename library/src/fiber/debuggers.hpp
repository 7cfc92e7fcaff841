// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/stacks.hpp"

namespace cppless::fiber::detail {

/// Tells debuggers (tools/gdb) where the running scheduler's list of stacks begins; null: there is
/// none.
void show_debuggers(fiber_record* const* first) noexcept;

}  // namespace cppless::fiber::detail
