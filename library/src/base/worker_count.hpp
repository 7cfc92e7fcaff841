// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cppless::detail {

/// On which the process may run; at least 1.
unsigned usable_cores() noexcept;

/// How many workers to have where the program does not say: `CPPLESS_WORKERS`, or as many as the
/// process may use cores. Throws `rejected` if the variable says no number from 1 to `most`.
unsigned default_worker_count(unsigned most);

}  // namespace cppless::detail
