// SPDX-License-Identifier: Apache-2.0
#include "lambda_position.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Sema/Sema.h>
#include <llvm/ADT/SmallVector.h>

namespace cppless::plugin {
namespace {

const clang::CXXRecordDecl* closure_of_call_operator(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  return method != nullptr && method->getParent()->isLambda() &&
                 method->getOverloadedOperator() == clang::OO_Call
             ? method->getParent()
             : nullptr;
}

// The closure in the pattern that `closure` was instantiated from: the one written at the same
// place.
const clang::CXXRecordDecl* pattern_closure(const clang::CXXRecordDecl& closure) {
  const clang::DeclContext* scope = closure.getDeclContext();
  if (scope->isFileContext()) {
    return &closure;
  }
  const clang::DeclContext* pattern = pattern_of(scope);
  if (pattern == scope) {
    return &closure;
  }
  for (const clang::Decl* declaration : pattern->decls()) {
    const auto* candidate = llvm::dyn_cast<clang::CXXRecordDecl>(declaration);
    if (candidate != nullptr && candidate->isLambda() &&
        candidate->getLocation() == closure.getLocation()) {
      return candidate;
    }
  }
  return &closure;
}

bool is_alike(const clang::TagDecl& first, const clang::TagDecl& second) {
  const auto* first_record = llvm::dyn_cast<clang::CXXRecordDecl>(&first);
  const auto* second_record = llvm::dyn_cast<clang::CXXRecordDecl>(&second);
  const bool first_lambda = first_record != nullptr && first_record->isLambda();
  const bool second_lambda = second_record != nullptr && second_record->isLambda();
  return first_lambda == second_lambda && first.getDeclName() == second.getDeclName();
}

clang::FileID file_of(const clang::Decl& declaration) {
  const clang::SourceManager& sources = declaration.getASTContext().getSourceManager();
  return sources.getFileID(sources.getExpansionLoc(declaration.getLocation()));
}

// Distinct places of declarations like `declaration` in `scope`, in source order.
llvm::SmallVector<clang::SourceLocation, 16> places_in(const clang::DeclContext& scope,
                                                       const clang::TagDecl& declaration) {
  llvm::SmallVector<clang::SourceLocation, 16> places;
  for (const clang::Decl* other : scope.decls()) {
    const auto* tag = llvm::dyn_cast<clang::TagDecl>(other);
    if (tag == nullptr || (tag->isImplicit() && !tag->getDeclName().isEmpty()) ||
        !is_alike(*tag, declaration)) {
      continue;
    }
    // A namespace is open to every file: there, only those of the same file count.
    const bool elsewhere =
        scope.isFileContext() && file_of(*tag) != file_of(declaration);
    if (!elsewhere && !llvm::is_contained(places, tag->getLocation())) {
      places.push_back(tag->getLocation());
    }
  }
  return places;
}

}  // namespace

const clang::DeclContext* pattern_of(const clang::DeclContext* scope) {
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(scope)) {
    const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern();
    if (pattern != nullptr && pattern != function) {
      return pattern_of(pattern);
    }
    if (const auto* closure = closure_of_call_operator(*function)) {
      const clang::CXXRecordDecl* source = pattern_closure(*closure);
      if (source != closure) {
        const clang::CXXMethodDecl* call = source->getLambdaCallOperator();
        return call != nullptr ? call : scope;
      }
    }
    return scope;
  }
  if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(scope)) {
    if (record->isLambda()) {
      return pattern_closure(*record);
    }
    const clang::CXXRecordDecl* pattern = record->getTemplateInstantiationPattern();
    return pattern != nullptr ? pattern : scope;
  }
  return scope;
}

lambda_position position_in_scope(const clang::TagDecl& declaration) {
  lambda_position position;
  const clang::DeclContext* scope = declaration.getDeclContext();
  const clang::DeclContext* pattern = pattern_of(scope);
  auto places = places_in(*pattern, declaration);
  if (!llvm::is_contained(places, declaration.getLocation())) {
    // Written outside the pattern, as a default argument is: count where it was instantiated.
    places = places_in(*scope, declaration);
  }
  const auto* found = llvm::find(places, declaration.getLocation());
  position.ordinal = static_cast<unsigned>(found - places.begin()) + 1;
  for (const clang::Decl* other : scope->decls()) {
    if (other == &declaration) {
      break;
    }
    const auto* tag = llvm::dyn_cast<clang::TagDecl>(other);
    if (tag != nullptr && is_alike(*tag, declaration) &&
        tag->getLocation() == declaration.getLocation()) {
      ++position.copy;
    }
  }
  return position;
}

const clang::VarDecl* namespace_lambdas::initialised_variable() const {
  // Sema keeps the variable whose initialiser is being parsed or instantiated on a stack; bodies of
  // lambdas inside it push entries without one.
  for (const auto& entry : llvm::reverse(sema_->ExprEvalContexts)) {
    const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(entry.ManglingContextDecl);
    if (variable != nullptr && !llvm::isa<clang::ParmVarDecl>(variable) &&
        variable->getDeclContext()->getRedeclContext()->isFileContext()) {
      return variable;
    }
  }
  return nullptr;
}

lambda_position namespace_lambdas::current(const clang::CXXRecordDecl& closure) {
  lambda_position position;
  position.variable = initialised_variable();
  position.ordinal = counter(closure, position.variable) + 1;
  return position;
}

void namespace_lambdas::count(const clang::CXXRecordDecl& closure) {
  ++counter(closure, initialised_variable());
}

unsigned& namespace_lambdas::counter(const clang::CXXRecordDecl& closure,
                                     const clang::VarDecl* variable) {
  if (variable != nullptr) {
    return by_variable_[variable];
  }
  return by_file_[file_of(closure).getHashValue()];
}

}  // namespace cppless::plugin
