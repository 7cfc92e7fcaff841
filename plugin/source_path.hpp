// SPDX-License-Identifier: Apache-2.0
//
// File names as they appear in stable names: the same on every machine that holds the same sources.
#pragma once

#include <clang/Basic/SourceLocation.h>

#include <string>

namespace clang {
class SourceManager;
}

namespace cppless::plugin {

class source_paths {
 public:
  // `root`: the directory the names are relative to; empty means the working directory.
  source_paths(const clang::SourceManager& sources, std::string root);

  // The file in which `where` was written (macros: where they were expanded; line markers are
  // followed, so preprocessed sources give the same names). A system header is named as it is
  // included, in angle brackets, because its place differs between machines.
  std::string file_of(clang::SourceLocation where) const;

  // The main source file of the translation unit.
  std::string main_file() const;

  // Whether both were written in the same file.
  bool same_file(clang::SourceLocation first, clang::SourceLocation second) const;

 private:
  std::string relative(llvm::StringRef path) const;

  const clang::SourceManager& sources_;
  std::string root_;
};

}  // namespace cppless::plugin
