// SPDX-License-Identifier: Apache-2.0
// ERROR: timeout must be 1 to 900 s
#include <cppless/cppless.hpp>

using config = cppless::lambda::config<cppless::lambda::with_timeout<0>>;
constexpr auto timeout = config::timeout;
