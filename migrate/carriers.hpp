// SPDX-License-Identifier: Apache-2.0
//
// Which types carry a migrated class: std::future<int>, but also std::vector<std::future<int>>&,
// a function that returns one, a closure whose call does, a class derived from one.
#pragma once

#include <clang/AST/Expr.h>
#include <clang/AST/Type.h>
#include <llvm/ADT/DenseMap.h>

namespace cppless::migrate {

class carriers {
 public:
  bool carries(clang::QualType type);

  // The same of expressions; a call of std::async in a template carries before its type is known.
  bool carries(const clang::Expr& expression);

 private:
  bool examine(const clang::Type& type);
  bool examine_class(const clang::CXXRecordDecl& record);
  bool any_of(llvm::ArrayRef<clang::TemplateArgument> arguments);

  llvm::DenseMap<const clang::Type*, bool> known_;
};

// The call's callee if it is std::async, in templates also while overloads are open.
const clang::Expr* async_callee(const clang::CallExpr& call);

}  // namespace cppless::migrate
