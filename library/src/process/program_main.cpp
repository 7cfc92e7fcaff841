// SPDX-License-Identifier: Apache-2.0
#include "process/program.hpp"

// The linker's `--wrap=main` sends the C library's call of `main` here and keeps the program's own
// one reachable. That is all that makes a program able to be its own worker.
extern "C" {
int __real_main(int argc, char** argv);

int __wrap_main(int argc, char** argv) {
  return cppless::detail::run_program(argc, argv, &__real_main);
}
}
