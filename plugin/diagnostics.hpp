// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a task, said where the user wrote it. The library instantiates annotated class
// templates with what it found out about a task (library/include/cppless/detail/task/callable.hpp):
//
//   dispatched<Callable>                                  Callable is sent to another process
//   capture_check<Callable, Index, T, Serializable>       the type of a capture
//   signature_check<Callable, Index, T, Serializable>     of a parameter, or the result (Index -1)
//
// and the plugin, seeing each of them completed, reports
//   errors    captures by reference, of `this`, of raw pointers; types that cannot be serialised
//   warnings  variables that are global, not const and used in the body of the lambda
// once per place in the source, however many instantiations lead there.
#pragma once

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/LambdaCapture.h>
#include <clang/Basic/Diagnostic.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringRef.h>

namespace clang {
class Sema;
class Stmt;
}  // namespace clang

namespace cppless::plugin {

class task_diagnostics {
 public:
  explicit task_diagnostics(bool warn_about_globals) : warn_about_globals_(warn_about_globals) {}

  void set_sema(clang::Sema* sema) { sema_ = sema; }

  // `note`: the annotation of the completed specialisation.
  void examine(const clang::ClassTemplateSpecializationDecl& specialisation, llvm::StringRef note);

 private:
  void dispatched(const clang::CXXRecordDecl& closure);
  void check_capture(const clang::LambdaCapture& capture, const clang::FieldDecl& field);
  void check_pointer(const clang::LambdaCapture& capture, clang::QualType type);
  void check_globals(const clang::Stmt& body);
  void check_global(const clang::VarDecl& variable, clang::SourceLocation use);
  void capture_type(const clang::CXXRecordDecl& closure, int index, clang::QualType type);
  void unserialisable_capture(const clang::LambdaCapture& capture, const clang::FieldDecl& field,
                              clang::QualType type);
  void signature_type(clang::QualType callable, int index, clang::QualType type);

  // Whether nothing was reported at `where` yet about the same aspect.
  bool first_time(clang::SourceLocation where, unsigned aspect);
  clang::DiagnosticBuilder report(clang::DiagnosticsEngine::Level level,
                                  clang::SourceLocation where, llvm::StringRef text);
  void explain(clang::SourceLocation where, const clang::CXXRecordDecl* needs_code);
  void note_dispatch(clang::SourceLocation where);

  bool warn_about_globals_;
  clang::Sema* sema_ = nullptr;
  llvm::DenseSet<std::pair<unsigned, unsigned>> reported_;
};

}  // namespace cppless::plugin
