// SPDX-License-Identifier: Apache-2.0
// ERROR: the callable returns another type than the task
#include <cppless/cppless.hpp>

cppless::task<long(int)> made = [](int x) { return x; };
