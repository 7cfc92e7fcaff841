// SPDX-License-Identifier: Apache-2.0
//
// cppless-migrate: reads all sources, then decides, then shows or writes.
#include <clang/Tooling/ArgumentsAdjusters.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "command_line.hpp"
#include "diff.hpp"
#include "survey.hpp"

namespace cppless::migrate {
namespace {

constexpr int done = 0;
constexpr int failed = 1;
constexpr int misused = 2;

int fail(const std::string& what, int status) {
  llvm::errs() << "cppless migrate: error: " << what << "\n";
  return status;
}

std::string counted(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// How each source is compiled. Null with `error` if -p names no database.
std::unique_ptr<clang::tooling::CompilationDatabase> database(const request& wanted,
                                                              std::string& error) {
  using clang::tooling::CompilationDatabase;
  if (!wanted.has_flags) {
    if (!wanted.build_directory.empty()) {
      return CompilationDatabase::autoDetectFromDirectory(wanted.build_directory, error);
    }
    std::string none;
    if (auto found = CompilationDatabase::autoDetectFromSource(wanted.sources.front(), none)) {
      return found;
    }
  }
  return std::make_unique<clang::tooling::FixedCompilationDatabase>(
      ".", wanted.has_flags ? wanted.flags : std::vector<std::string>{"-std=c++20"});
}

// Clang finds its own headers beside its executable, which we are not; warnings are not for us.
clang::tooling::ArgumentsAdjuster flags_of_ours(const request& wanted) {
  clang::tooling::CommandLineArguments ours{"-resource-dir=" CPPLESS_CLANG_RESOURCES, "-w",
                                            "-Qunused-arguments"};
  if (!wanted.library_headers.empty()) {
    ours.insert(ours.end(), {"-idirafter", wanted.library_headers});
  }
  return clang::tooling::getInsertArgumentAdjuster(ours,
                                                   clang::tooling::ArgumentInsertPosition::END);
}

bool survey(const request& wanted, const clang::tooling::CompilationDatabase& commands,
            findings& found) {
  clang::tooling::ClangTool tool(commands, wanted.sources);
  tool.setPrintErrorMessage(false);
  tool.appendArgumentsAdjuster(flags_of_ours(wanted));
  const changeable_files files(wanted.sources);
  return tool.run(survey_into(found, files).get()) == 0;
}

void report(const request& wanted, const std::vector<changed_file>& files,
            const decision& decided) {
  for (const remark& each : decided.remarks) {
    llvm::errs() << shown(each.where) << ": note: " << each.text << "\n";
  }
  size_t changes = 0;
  bool headers = false;
  for (const changed_file& file : files) {
    changes += file.edits.size();
    headers |= std::none_of(
        wanted.sources.begin(), wanted.sources.end(),
        [&](const std::string& source) { return llvm::sys::fs::equivalent(source, file.path); });
  }
  llvm::errs() << "cppless migrate: " << counted(changes, "change") << " in "
               << counted(files.size(), "file") << (wanted.write ? "" : ", not written")
               << (decided.remarks.empty() ? "" : "; " + counted(decided.remarks.size(), "note"))
               << "\n";
  if (headers) {
    llvm::errs() << "cppless migrate: headers change too: every source that includes them and uses "
                    "what they declare must be given with them\n";
  }
}

int run(const std::vector<std::string>& words) {
  request wanted;
  if (const std::string wrong = parse(words, wanted); !wrong.empty()) {
    return fail(wrong + " (see cppless migrate --help)", misused);
  }
  for (const std::string& source : wanted.sources) {
    if (!llvm::sys::fs::is_regular_file(source)) {
      return fail("there is no file " + source, misused);
    }
  }
  std::string error;
  const auto commands = database(wanted, error);
  if (commands == nullptr) {
    return fail("there is no compile_commands.json in " + wanted.build_directory + " or above",
                misused);
  }
  findings found;
  if (!survey(wanted, *commands, found)) {
    return fail("a source does not compile with these flags; nothing was changed: give the flags "
                "with -p DIRECTORY or after --", failed);
  }
  const decision decided = decide(found);
  const std::vector<changed_file> files = changed_files(decided, found, error);
  if (error.empty() && wanted.write) {
    error = write_all(files);
  }
  if (!error.empty()) {
    return fail(error, failed);
  }
  if (!wanted.write) {
    for (const changed_file& file : files) {
      llvm::outs() << unified_diff(file);
    }
  }
  report(wanted, files, decided);
  return done;
}

}  // namespace
}  // namespace cppless::migrate

int main(int count, char** words) {
  return cppless::migrate::run({words + 1, words + count});
}
