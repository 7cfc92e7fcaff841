// SPDX-License-Identifier: Apache-2.0
//
// Where something is written, the same for every source that includes it, and which files may be
// changed.
#pragma once

#include <clang/Basic/SourceManager.h>

#include <compare>
#include <string>
#include <vector>

namespace cppless::migrate {

struct place {
  std::string file;  // its real path; empty: nowhere
  unsigned offset = 0;
  unsigned line = 0;
  unsigned column = 0;

  auto operator<=>(const place&) const = default;
};

// Where the tokens at `where` are written, or where the macro is used that writes them.
place place_of(const clang::SourceManager& sources, clang::SourceLocation where);

// As the user would write it: relative to the working directory if below it.
std::string shown_path(llvm::StringRef file);

// "main.cpp:3:14"
std::string shown(const place& where);

// The given sources' directories and the working directory: headers below them are the user's, all
// others belong to somebody else.
class changeable_files {
 public:
  explicit changeable_files(const std::vector<std::string>& source_files);

  bool contains(const clang::SourceManager& sources, clang::SourceLocation where) const;

 private:
  std::vector<std::string> roots_;  // real paths, each with a slash at its end
};

}  // namespace cppless::migrate
