// SPDX-License-Identifier: Apache-2.0
//
// Changed files: their new text, shown as a difference or written in their place.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "decision.hpp"

namespace cppless::migrate {

struct changed_file {
  std::string path;
  std::string before;
  std::set<edit> edits;  // the include among them

  std::string after() const;
};

// `error` says what could not be read, if anything.
std::vector<changed_file> changed_files(const decision& decided, const findings& found,
                                        std::string& error);

// Either all files are replaced or, if one cannot be written, none. "" or what went wrong.
std::string write_all(const std::vector<changed_file>& files);

}  // namespace cppless::migrate
