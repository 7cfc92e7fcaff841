// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rewrite.hpp"

namespace cppless::migrate {

// A unified difference as `patch -p1` and `git apply` take it, three lines of context. It follows
// from the edits, which stay within their lines or add whole ones: nothing is searched for.
std::string unified_diff(const changed_file& file);

}  // namespace cppless::migrate
