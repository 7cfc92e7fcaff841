// SPDX-License-Identifier: Apache-2.0
#include "survey.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include "syntax_walk.hpp"

namespace cppless::migrate {
namespace {

// Notes where in each file the include of the fiber header may go.
class include_listener final : public clang::PPCallbacks {
 public:
  include_listener(findings& result, const clang::SourceManager& sources)
      : result_(result), sources_(sources) {}

  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name,
                          bool, clang::CharSourceRange, clang::OptionalFileEntryRef,
                          llvm::StringRef, llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (sources_.isInSystemHeader(hash)) {
      return;
    }
    const place where = place_of(sources_, hash);
    const unsigned depth = depths_[where.file];
    include_lines& lines = result_.includes[where.file];
    lines.has_fiber |= name == "cppless/fiber.hpp";
    if (name == "future" && lines.future == include_lines::none) {
      lines.future = where.offset;
    }
    if (lines.last == include_lines::none || depth < lines.last_depth ||
        (depth == lines.last_depth && where.offset > lines.last)) {
      lines.last = where.offset;
      lines.last_depth = depth;
    }
  }

  void If(clang::SourceLocation where, clang::SourceRange, ConditionValueKind) override {
    deeper(where);
  }
  void Ifdef(clang::SourceLocation where, const clang::Token&,
             const clang::MacroDefinition&) override {
    deeper(where);
  }
  void Ifndef(clang::SourceLocation where, const clang::Token&,
              const clang::MacroDefinition&) override {
    deeper(where);
  }
  void Endif(clang::SourceLocation where, clang::SourceLocation) override {
    if (!sources_.isInSystemHeader(where)) {
      --depths_[place_of(sources_, where).file];
    }
  }

 private:
  void deeper(clang::SourceLocation where) {
    if (!sources_.isInSystemHeader(where)) {
      ++depths_[place_of(sources_, where).file];
    }
  }

  findings& result_;
  const clang::SourceManager& sources_;
  std::map<std::string, unsigned> depths_;
};

class consumer final : public clang::ASTConsumer {
 public:
  consumer(findings& result, const changeable_files& files) : result_(result), files_(files) {}

  void HandleTranslationUnit(clang::ASTContext& context) override {
    if (!context.getDiagnostics().hasErrorOccurred()) {
      walk_syntax(context, result_, files_);
    }
  }

 private:
  findings& result_;
  const changeable_files& files_;
};

class action final : public clang::ASTFrontendAction {
 public:
  action(findings& result, const changeable_files& files) : result_(result), files_(files) {}

 protected:
  // Programs that use cppless are compiled with its plugin: without it they would not parse.
  bool BeginInvocation(clang::CompilerInstance& compiler) override {
    compiler.LoadRequestedPlugins();
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    compiler.getPreprocessor().addPPCallbacks(
        std::make_unique<include_listener>(result_, compiler.getSourceManager()));
    return std::make_unique<consumer>(result_, files_);
  }

 private:
  findings& result_;
  const changeable_files& files_;
};

class factory final : public clang::tooling::FrontendActionFactory {
 public:
  factory(findings& result, const changeable_files& files) : result_(result), files_(files) {}

  std::unique_ptr<clang::FrontendAction> create() override {
    return std::make_unique<action>(result_, files_);
  }

 private:
  findings& result_;
  const changeable_files& files_;
};

}  // namespace

std::unique_ptr<clang::tooling::FrontendActionFactory> survey_into(findings& result,
                                                                   const changeable_files& files) {
  return std::make_unique<factory>(result, files);
}

}  // namespace cppless::migrate
