// SPDX-License-Identifier: Apache-2.0
//
// Raw entry points: functions with which an executable of their own begins.
//
//   __attribute__((entry)) int worker(int argc, char** argv);        also [[cppless::entry]]
//   __attribute__((entry, metadata("text"))) static int main(...);   in class templates too
//
// An entry is checked as `main` is, returns 0 when it falls off its end, and is compiled as soon as
// the class template around it is instantiated, though nothing calls it. For each entry a record
// goes into the linker section `cppless_raw_entries` (docs/formats/manifest.md), from which
// `cppless++` makes the executables and the manifest. Thesis 3.1.1 and 4.1.1.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <llvm/ADT/SmallVector.h>

namespace clang {
class ASTConsumer;
class Sema;
}  // namespace clang

namespace cppless::plugin {

// The entries of one translation unit. The attributes are parsed by objects that clang creates once
// per process; they find the entries of the unit at hand by its Sema.
class raw_entries {
 public:
  raw_entries() = default;
  raw_entries(const raw_entries&) = delete;
  raw_entries& operator=(const raw_entries&) = delete;
  ~raw_entries() { set_sema(nullptr); }

  void set_sema(clang::Sema* sema);
  static raw_entries* of(const clang::Sema& sema);

  void declared(clang::FunctionDecl& function) { declared_.push_back(&function); }
  void has_metadata(clang::FunctionDecl& function) { with_metadata_.push_back(&function); }

  // Looks for entries among the members of an instantiated class.
  void class_instantiated(clang::CXXRecordDecl& record);

  // At the end of the translation unit: writes the records, handing them to `consumer`.
  void emit_records(clang::ASTConsumer& consumer);

 private:
  clang::Sema* sema_ = nullptr;
  llvm::SmallVector<clang::FunctionDecl*, 8> declared_;
  llvm::SmallVector<clang::FunctionDecl*, 8> with_metadata_;
};

// Reports, in clang's own words for `main`, what is wrong with the type of `function`.
void check_like_main(clang::Sema& sema, clang::FunctionDecl& function);

}  // namespace cppless::plugin
