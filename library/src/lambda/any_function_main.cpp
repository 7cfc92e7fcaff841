// SPDX-License-Identifier: Apache-2.0
#include "lambda/function_process.hpp"

// The main of an executable that holds all tasks of a program and serves the one that its handler
// names: for objects compiled without the plugin, whose tasks have no roots.
extern "C" int __wrap_main(int, char**) { return cppless::detail::run_function_of_handler(); }
