// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cppless::migrate {

struct request {
  std::vector<std::string> sources;
  std::vector<std::string> flags;  // the compiler's, after "--"
  bool has_flags = false;
  std::string build_directory;    // of compile_commands.json; empty: the sources' or above
  std::string library_headers;    // where <cppless/fiber.hpp> is, for sources migrated before
  bool write = false;
};

// cppless-migrate [--write] [-p DIRECTORY] [--library DIRECTORY] SOURCE... [-- FLAGS...]; see
// `cppless migrate --help`. Returns what is wrong with the command line, "" if nothing.
std::string parse(const std::vector<std::string>& words, request& result);

}  // namespace cppless::migrate
