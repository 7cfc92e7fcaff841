// SPDX-License-Identifier: Apache-2.0
// ERROR: instance
#include <cppless/cppless.hpp>

void go(const cppless::instance& one) { cppless::instance other = one; }
