// SPDX-License-Identifier: Apache-2.0
#include "rewrite.hpp"

#include <clang/Format/Format.h>
#include <clang/Tooling/Inclusions/HeaderIncludes.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <system_error>

namespace cppless::migrate {
namespace {

constexpr const char* header = "cppless/fiber.hpp";

// After <future>, whose place it takes; else after the last include.
edit include_edit(const std::string& path, const std::string& text, const include_lines& lines) {
  const unsigned line = lines.future != include_lines::none ? lines.future : lines.last;
  if (line == include_lines::none) {
    const clang::tooling::HeaderIncludes includes(path, text,
                                                  clang::format::getLLVMStyle().IncludeStyle);
    const auto added =
        includes.insert(header, /*IsAngled=*/true, clang::tooling::IncludeDirective::Include);
    return added ? edit{added->getOffset(), added->getLength(), added->getReplacementText().str()}
                 : edit{};
  }
  const std::string directive = std::string("#include <") + header + ">";
  const size_t end = text.find('\n', line);
  if (end == std::string::npos) {
    return {static_cast<unsigned>(text.size()), 0, "\n" + directive};
  }
  const char* newline = end > 0 && text[end - 1] == '\r' ? "\r\n" : "\n";
  return {static_cast<unsigned>(end + 1), 0, directive + newline};
}

std::string failure(const std::string& path, std::error_code error) {
  return "cannot write " + shown_path(path) + " (" + error.message() + ")";
}

}  // namespace

std::string changed_file::after() const {
  std::string result;
  size_t at = 0;
  for (const edit& each : edits) {
    result.append(before, at, each.offset - at).append(each.text);
    at = each.offset + each.length;
  }
  return result.append(before, at);
}

std::vector<changed_file> changed_files(const decision& decided, const findings& found,
                                        std::string& error) {
  std::vector<changed_file> result;
  for (const auto& [path, edits] : decided.edits) {
    const auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer) {
      error = "cannot read " + shown_path(path) + " (" + buffer.getError().message() + ")";
      return {};
    }
    changed_file file{path, (*buffer)->getBuffer().str(), edits};
    const auto lines = found.includes.find(path);
    if (lines == found.includes.end() || !lines->second.has_fiber) {
      file.edits.insert(include_edit(
          path, file.before, lines == found.includes.end() ? include_lines() : lines->second));
    }
    result.push_back(std::move(file));
  }
  return result;
}

std::string write_all(const std::vector<changed_file>& files) {
  const auto partial = [](const changed_file& file) { return file.path + ".migrating"; };
  std::string error;
  for (const changed_file& file : files) {
    std::error_code code;
    llvm::raw_fd_ostream out(partial(file), code);
    if (!code) {
      out << file.after();
      out.close();
      code = out.error();
      out.clear_error();
    }
    if (!code) {
      const auto mode = llvm::sys::fs::getPermissions(file.path);
      code = mode ? llvm::sys::fs::setPermissions(partial(file), *mode) : mode.getError();
    }
    if (!code && !llvm::sys::fs::can_write(file.path)) {
      code = std::make_error_code(std::errc::permission_denied);
    }
    if (code) {
      error = failure(file.path, code);
      break;
    }
  }
  for (const changed_file& file : files) {
    if (error.empty()) {
      if (const std::error_code code = llvm::sys::fs::rename(partial(file), file.path)) {
        error = failure(file.path, code);
      }
    } else {
      llvm::sys::fs::remove(partial(file));
    }
  }
  return error;
}

}  // namespace cppless::migrate
