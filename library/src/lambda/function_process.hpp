// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/task/entry.hpp>

namespace cppless::detail {

/// The process of a function executable that serves `served`; returns its exit status. It ends well
/// on SIGTERM, after the request it is at. Serves as many requests at once as
/// AWS_LAMBDA_MAX_CONCURRENCY says, each on a thread of its own.
int run_function(const entry& served);

/// The same for the one task among all of this image whose identity, in 16 hexadecimal digits, is
/// the function's handler (`_HANDLER`).
int run_function_of_handler();

}  // namespace cppless::detail
