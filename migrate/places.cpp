// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace cppless::migrate {
namespace {

std::string real_path(llvm::StringRef name) {
  llvm::SmallString<256> result;
  if (llvm::sys::fs::real_path(name, result)) {
    return name.str();
  }
  return result.str().str();
}

std::string file_of(const clang::SourceManager& sources, clang::FileID file) {
  const clang::OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  return entry ? real_path(entry->getName()) : std::string();
}

std::string as_root(std::string directory) {
  return directory.ends_with('/') ? directory : directory + '/';
}

}  // namespace

place place_of(const clang::SourceManager& sources, clang::SourceLocation where) {
  const auto [file, offset] = sources.getDecomposedLoc(sources.getExpansionLoc(where));
  return {file_of(sources, file), offset, sources.getLineNumber(file, offset),
          sources.getColumnNumber(file, offset)};
}

std::string shown_path(llvm::StringRef file) {
  return file.consume_front(as_root(real_path("."))) ? file.str() : file.str();
}

std::string shown(const place& where) {
  return shown_path(where.file) + ":" + std::to_string(where.line) + ":" +
         std::to_string(where.column);
}

changeable_files::changeable_files(const std::vector<std::string>& source_files) {
  roots_.push_back(as_root(real_path(".")));
  for (const std::string& file : source_files) {
    roots_.push_back(as_root(llvm::sys::path::parent_path(real_path(file)).str()));
  }
}

bool changeable_files::contains(const clang::SourceManager& sources,
                                clang::SourceLocation where) const {
  where = sources.getExpansionLoc(where);
  if (where.isInvalid() || sources.isInSystemHeader(where)) {
    return false;
  }
  const std::string file = file_of(sources, sources.getFileID(where));
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const std::string& root) { return file.starts_with(root); });
}

}  // namespace cppless::migrate
