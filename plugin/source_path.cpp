// SPDX-License-Identifier: Apache-2.0
#include "source_path.hpp"

#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace cppless::plugin {
namespace {

namespace path = llvm::sys::path;

llvm::SmallString<256> absolute(llvm::StringRef name) {
  llvm::SmallString<256> result(name);
  llvm::sys::fs::make_absolute(result);
  path::remove_dots(result, /*remove_dot_dot=*/true);
  return result;
}

// The part of a system header's path that follows its include directory. Standard libraries keep
// theirs in .../c++/<version>/ or .../c++/v1/, everything else in .../include/.
llvm::StringRef include_spelling(llvm::StringRef name) {
  if (const size_t library = name.rfind("/c++/"); library != llvm::StringRef::npos) {
    const size_t version_end = name.find('/', library + 5);
    if (version_end != llvm::StringRef::npos) {
      return name.substr(version_end + 1);
    }
  }
  if (const size_t include = name.rfind("/include/"); include != llvm::StringRef::npos) {
    return name.substr(include + 9);
  }
  return path::filename(name);
}

}  // namespace

source_paths::source_paths(const clang::SourceManager& sources, std::string root)
    : sources_(sources), root_(absolute(root.empty() ? "." : root).str()) {}

std::string source_paths::file_of(clang::SourceLocation where) const {
  const clang::SourceLocation written = sources_.getExpansionLoc(where);
  const clang::PresumedLoc presumed = sources_.getPresumedLoc(written);
  if (presumed.isInvalid()) {
    return main_file();
  }
  if (sources_.isInSystemHeader(written)) {
    return ("<" + include_spelling(presumed.getFilename()) + ">").str();
  }
  return relative(presumed.getFilename());
}

std::string source_paths::main_file() const {
  // The second line, if there is one: in preprocessed source the first is a marker that names the
  // original file for the lines after it.
  const clang::FileID main = sources_.getMainFileID();
  const clang::SourceLocation begin = sources_.getLocForStartOfFile(main);
  const llvm::StringRef text = sources_.getBufferData(main);
  const size_t first_line = text.starts_with("# 1 \"") ? text.find('\n') : llvm::StringRef::npos;
  const unsigned offset = first_line + 1 < text.size() && first_line != llvm::StringRef::npos
                              ? static_cast<unsigned>(first_line + 1)
                              : 0;
  const clang::PresumedLoc presumed = sources_.getPresumedLoc(begin.getLocWithOffset(offset));
  return presumed.isInvalid() ? "<unknown>" : relative(presumed.getFilename());
}

bool source_paths::same_file(clang::SourceLocation first, clang::SourceLocation second) const {
  return sources_.getFileID(sources_.getExpansionLoc(first)) ==
         sources_.getFileID(sources_.getExpansionLoc(second));
}

std::string source_paths::relative(llvm::StringRef name) const {
  const llvm::SmallString<256> file = absolute(name);
  auto file_part = path::begin(file);
  auto root_part = path::begin(root_);
  const auto file_end = path::end(file);
  const auto root_end = path::end(root_);
  while (file_part != file_end && root_part != root_end && *file_part == *root_part) {
    ++file_part;
    ++root_part;
  }
  llvm::SmallString<256> result;
  for (; root_part != root_end; ++root_part) {
    path::append(result, path::Style::posix, "..");
  }
  for (; file_part != file_end; ++file_part) {
    path::append(result, path::Style::posix, *file_part);
  }
  return std::string(result.str());
}

}  // namespace cppless::plugin
