// SPDX-License-Identifier: Apache-2.0
#include "async_call.hpp"

#include <clang/AST/ExprCXX.h>

#include "standard_names.hpp"

namespace cppless::migrate {

std::optional<std::string> policy_obstacle(const clang::CallExpr& call,
                                           const clang::ASTContext& context) {
  if (call.getNumArgs() == 0 || !is_launch(call.getArg(0)->getType())) {
    return std::nullopt;
  }
  const clang::Expr& policy = *call.getArg(0);
  clang::Expr::EvalResult value;
  if (policy.isValueDependent() || !policy.EvaluateAsInt(value, context)) {
    return "the policy of std::async is known only when the program runs";
  }
  // By their names: the values are the library's.
  const auto* launch = policy.getType().getNonReferenceType()->castAs<clang::EnumType>();
  for (const clang::EnumConstantDecl* each : launch->getDecl()->enumerators()) {
    if (each->getName() == "async" && (value.Val.getInt() & each->getInitVal()) != 0) {
      return std::nullopt;
    }
  }
  return "std::launch::deferred: the task runs in the thread that asks for its result";
}

void add_called_functions(const clang::Stmt* part, declared_things& things,
                          std::set<std::string>& functions) {
  if (part == nullptr) {
    return;
  }
  if (const auto* expression = llvm::dyn_cast<clang::Expr>(part)) {
    const clang::CXXRecordDecl* record = expression->getType()->getAsCXXRecordDecl();
    if (record != nullptr && record->hasDefinition() && !belongs_to_std(*record)) {
      for (const clang::CXXMethodDecl* method : record->methods()) {
        if (method->getOverloadedOperator() == clang::OO_Call) {
          functions.insert(things.key_of(*method));
        }
      }
    }
  }
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(part)) {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl())) {
      functions.insert(things.key_of(*function));
    }
  }
  if (llvm::isa<clang::LambdaExpr>(part)) {
    return;  // its call operator is in already
  }
  for (const clang::Stmt* child : part->children()) {
    add_called_functions(child, things, functions);
  }
}

}  // namespace cppless::migrate
