// SPDX-License-Identifier: Apache-2.0
//
// Where clang meets the plugin: one consumer that listens for completed classes and hands each to
// the part that is interested. It runs before clang's own consumers, so what it adds to a class is
// there for everything that follows, code generation and precompiled headers included.
#include <clang/AST/ASTMutationListener.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/SemaConsumer.h>

#include "annotation.hpp"
#include "closure_reflection.hpp"
#include "compatibility.hpp"
#include "diagnostics.hpp"
#include "entry_attribute.hpp"
#include "stable_name.hpp"
#include "task_root.hpp"

namespace cppless::plugin {
namespace {

struct options {
  std::string source_root;
  bool warn_about_globals = true;
};

class consumer final : public clang::SemaConsumer, public clang::ASTMutationListener {
 public:
  consumer(clang::CompilerInstance& compiler, const options& options)
      : compiler_(compiler),
        names_(compiler.getASTContext(),
               source_paths(compiler.getSourceManager(), options.source_root)),
        diagnostics_(options.warn_about_globals) {}

  clang::ASTMutationListener* GetASTMutationListener() override { return this; }
  void InitializeSema(clang::Sema& sema) override { set_sema(&sema); }
  void ForgetSema() override { set_sema(nullptr); }

  // Called for every class the moment its members are known, for templates once per instantiation.
  void CompletedTagDefinition(const clang::TagDecl* tag) override {
    auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(const_cast<clang::TagDecl*>(tag));
    if (record == nullptr) {
      return;
    }
    if (record->isLambda()) {
      names_.closure_completed(*record);
      if (!record->isDependentContext()) {
        add_closure_reflection(*record);
      }
      return;
    }
    if (record->getTemplateInstantiationPattern() != nullptr && !record->isDependentContext()) {
      entries_.class_instantiated(*record);
    }
    if (auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record)) {
      if (special->hasAttrs() && !special->isDependentContext()) {
        annotated_specialisation(*special);
      }
    }
  }

  void HandleTranslationUnit(clang::ASTContext& context) override {
    if (!compiler_.getDiagnostics().hasErrorOccurred()) {
      entries_.emit_records(compiler_.getASTConsumer());
      roots_.emit(context, names_, compiler_.getASTConsumer());
    }
  }

 private:
  void set_sema(clang::Sema* sema) {
    names_.set_sema(sema);
    entries_.set_sema(sema);
    diagnostics_.set_sema(sema);
  }

  void annotated_specialisation(clang::ClassTemplateSpecializationDecl& specialisation) {
    const llvm::StringRef note = cppless_annotation(specialisation);
    if (note == annotation::stable_name) {
      names_.add_value(specialisation);
    } else if (note == annotation::task_entry) {
      roots_.entry_completed(specialisation);
    } else if (!note.empty()) {
      diagnostics_.examine(specialisation, note);
    }
  }

  clang::CompilerInstance& compiler_;
  stable_names names_;
  raw_entries entries_;
  task_roots roots_;
  task_diagnostics diagnostics_;
};

class action final : public clang::PluginASTAction {
 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    clang::Preprocessor& preprocessor = compiler.getPreprocessor();
    preprocessor.setPredefines(preprocessor.getPredefines() + "#define __CPPLESS_PLUGIN__ 1\n");
    return std::make_unique<consumer>(compiler, options_);
  }

  bool ParseArgs(const clang::CompilerInstance& compiler,
                 const std::vector<std::string>& arguments) override {
    for (const llvm::StringRef argument : arguments) {
      llvm::StringRef value = argument;
      if (value.consume_front("source-root=")) {
        options_.source_root = value.str();
      } else if (argument == "no-global-warnings") {
        options_.warn_about_globals = false;
      } else {
        clang::DiagnosticsEngine& diagnostics = compiler.getDiagnostics();
        diagnostics.Report(diagnostics.getCustomDiagID(
            clang::DiagnosticsEngine::Error,
            "cppless plugin: unknown argument '%0'; known are source-root=DIRECTORY and "
            "no-global-warnings"))
            << argument;
        return false;
      }
    }
    return true;
  }

  ActionType getActionType() override { return AddBeforeMainAction; }

 private:
  options options_;
};

}  // namespace
}  // namespace cppless::plugin

static clang::FrontendPluginRegistry::Add<cppless::plugin::action> registration(
    "cppless", "closure reflection, entry points, stable names and diagnostics for cppless");
