// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace test {

/// With CPPLESS_TEST_STUB=1 in the environment, starts a stand-in for Lambda that runs the tasks of
/// this program, each in a process of its own, and points the lambda dispatcher to it. Call it first
/// thing in `main`, while there is one thread. The stand-in ends with this process.
void start_stub_if_asked();

}  // namespace test
