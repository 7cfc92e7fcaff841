// SPDX-License-Identifier: Apache-2.0
#include "carriers.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "standard_names.hpp"

namespace cppless::migrate {

bool carriers::carries(clang::QualType type) {
  if (type.isNull()) {
    return false;
  }
  const clang::Type* canonical = type.getCanonicalType().getTypePtr();
  const auto [found, is_new] = known_.try_emplace(canonical, false);
  if (!is_new) {
    return found->second;  // false within itself: whatever else it holds decides
  }
  const bool result = examine(*canonical);
  known_[canonical] = result;
  return result;
}

bool carriers::carries(const clang::Expr& expression) {
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(expression.IgnoreImplicit())) {
    if (async_callee(*call) != nullptr) {
      return true;
    }
  }
  return carries(expression.getType());
}

bool carriers::examine(const clang::Type& type) {
  if (const auto* reference = type.getAs<clang::ReferenceType>()) {
    return carries(reference->getPointeeType());
  }
  if (const auto* pointer = type.getAs<clang::PointerType>()) {
    return carries(pointer->getPointeeType());
  }
  if (const auto* member = type.getAs<clang::MemberPointerType>()) {
    return carries(member->getPointeeType());
  }
  if (const auto* array = llvm::dyn_cast<clang::ArrayType>(&type)) {
    return carries(array->getElementType());
  }
  if (const auto* expansion = type.getAs<clang::PackExpansionType>()) {
    return carries(expansion->getPattern());
  }
  if (const auto* function = type.getAs<clang::FunctionProtoType>()) {
    return carries(function->getReturnType()) ||
           std::any_of(function->param_type_begin(), function->param_type_end(),
                       [this](clang::QualType each) { return carries(each); });
  }
  if (const auto* special = type.getAs<clang::TemplateSpecializationType>()) {
    return is_migrated_class(special->getTemplateName().getAsTemplateDecl()) ||
           any_of(special->template_arguments());
  }
  const clang::CXXRecordDecl* record = type.getAsCXXRecordDecl();
  return record != nullptr && examine_class(*record);
}

bool carriers::examine_class(const clang::CXXRecordDecl& record) {
  if (record.isLambda()) {
    const clang::CXXMethodDecl* call = record.getLambdaCallOperator();
    return call != nullptr && carries(call->getType());
  }
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record)) {
    if (is_migrated_class(special->getSpecializedTemplate()) ||
        any_of(special->getTemplateArgs().asArray())) {
      return true;
    }
  }
  if (!record.hasDefinition() || belongs_to_std(record)) {
    return false;
  }
  for (const clang::CXXBaseSpecifier& base : record.bases()) {
    if (carries(base.getType())) {
      return true;
    }
  }
  return false;
}

bool carriers::any_of(llvm::ArrayRef<clang::TemplateArgument> arguments) {
  const auto carries_one = [this](const clang::TemplateArgument& each) {
    switch (each.getKind()) {
      case clang::TemplateArgument::Type:
        return carries(each.getAsType());
      case clang::TemplateArgument::Template:
        return is_migrated_class(each.getAsTemplate().getAsTemplateDecl());
      case clang::TemplateArgument::Pack:
        return any_of(each.getPackAsArray());
      default:
        return false;
    }
  };
  return std::any_of(arguments.begin(), arguments.end(), carries_one);
}

const clang::Expr* async_callee(const clang::CallExpr& call) {
  const clang::Expr* callee = call.getCallee()->IgnoreParenImpCasts();
  if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(callee)) {
    return is_async(named->getDecl()) ? callee : nullptr;
  }
  if (const auto* open = llvm::dyn_cast<clang::UnresolvedLookupExpr>(callee)) {
    const bool all = std::all_of(open->decls_begin(), open->decls_end(),
                                 [](const clang::NamedDecl* each) { return is_async(each); });
    return all && open->getNumDecls() > 0 ? callee : nullptr;
  }
  return nullptr;
}

}  // namespace cppless::migrate
