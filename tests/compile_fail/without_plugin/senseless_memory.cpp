// SPDX-License-Identifier: Apache-2.0
// ERROR: memory must be 1 to 10240 MB
#include <cppless/cppless.hpp>

using config = cppless::lambda::config<cppless::lambda::with_memory<20000>>;
constexpr auto memory = config::memory;
