// SPDX-License-Identifier: Apache-2.0
//
// A symbol for each task, by which an executable can be linked that holds that task and nothing
// else. For every instantiated cppless::detail::entry_for<Callable, Parameters, Config> that the
// program uses, as if it had written
//
//   extern "C" [[gnu::weak]] const void* cppless_task_<hash> = &entry_for<...>::record;
//
// <hash>: of the stable name of the specialisation, as `entry::root_symbol` of the library computes
// it (library/src/task/entry.cpp). A function executable's main refers to the one task that
// --defsym names; with --gc-sections and -z start-stop-gc no other is kept.
#pragma once

#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/SmallVector.h>

#include <string>

namespace clang {
class ASTConsumer;
}

namespace cppless::plugin {

class stable_names;

class task_roots {
 public:
  // A completed specialisation of entry_for.
  void entry_completed(clang::ClassTemplateSpecializationDecl& specialisation) {
    entries_.push_back(&specialisation);
  }

  // At the end of the translation unit: hands the symbols' definitions to `consumer`.
  void emit(clang::ASTContext& context, stable_names& names, clang::ASTConsumer& consumer);

 private:
  llvm::SmallVector<clang::ClassTemplateSpecializationDecl*, 16> entries_;
};

}  // namespace cppless::plugin
