// SPDX-License-Identifier: Apache-2.0
#include "lambda/function_process.hpp"

// The main of an executable that serves one task. The linker is told which: --defsym makes this name
// that of the task's root (entry::root_symbol), --wrap=main leads here, and what nothing refers to
// any more, the program's own main and all other tasks among it, is left out.
extern "C" {
extern const cppless::detail::entry* const cppless_function_entry;

int __wrap_main(int, char**) { return cppless::detail::run_function(*cppless_function_entry); }

// Every unit that includes <iostream>, which cereal does, constructs and destroys a
// std::ios_base::Init. Where nothing that is kept uses a standard stream, these take its place
// (--wrap): a third less to load, and no locales to set up at a cold start.
void __wrap__ZNSt8ios_base4InitC1Ev(void*) {}
void __wrap__ZNSt8ios_base4InitD1Ev(void*) {}
}
