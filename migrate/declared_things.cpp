// SPDX-License-Identifier: Apache-2.0
#include "declared_things.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/Index/USRGeneration.h>
#include <llvm/ADT/SmallString.h>

#include "standard_names.hpp"

namespace cppless::migrate {
namespace {

const clang::FunctionDecl& pattern_of(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* pattern = function.getTemplateInstantiationPattern();
  return pattern != nullptr ? *pattern : function;
}

std::string usr_of(const clang::Decl& declaration) {
  llvm::SmallString<128> result;
  clang::index::generateUSRForDecl(&declaration, result);
  return result.str().str();
}

const clang::FunctionDecl* function_with(const clang::NamedDecl& declaration) {
  if (const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(&declaration)) {
    return llvm::dyn_cast<clang::FunctionDecl>(parameter->getDeclContext());
  }
  return llvm::dyn_cast<clang::FunctionDecl>(&declaration);
}

bool is_lambda_call(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  return method != nullptr && method->getParent()->isLambda();
}

// Whether sources other than this one can name it.
bool is_shared(const clang::NamedDecl& declaration) {
  return declaration.isExternallyVisible() && !declaration.isTemplated() &&
         declaration.getDeclContext()->isFileContext();
}

bool is_defined(const clang::NamedDecl& declaration) {
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration)) {
    return function->isDefined() || function->isPureVirtual() || function->isDeleted() ||
           function->isDefaulted() || function->isImplicit();
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
  return variable == nullptr || variable->hasDefinition() != clang::VarDecl::DeclarationOnly;
}

}  // namespace

groups::member declared_things::member_of(const clang::NamedDecl& declaration) {
  const clang::NamedDecl* key = function_with(declaration);
  if (key == nullptr) {
    key = &declaration;
  }
  const auto found = known_.find(key);
  if (found != known_.end()) {
    return found->second;
  }
  const groups::member result = result_.together.make();
  known_.try_emplace(key, result);
  link(result, *key);
  return result;
}

groups::member declared_things::member_of(const clang::NamedDecl& declaration,
                                          clang::QualType type) {
  const groups::member result = member_of(declaration);
  join_with_classes(result, type);
  return result;
}

void declared_things::link(groups::member member, const clang::NamedDecl& declaration) {
  groups& together = result_.together;
  together.join(member, together.named(place_key(declaration)));
  const auto* value = llvm::dyn_cast<clang::ValueDecl>(&declaration);
  const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration);
  if (function != nullptr) {
    value = &pattern_of(*function);
    for (const clang::FunctionDecl* each : pattern_of(*function).redecls()) {
      together.join(member, together.named(place_key(*each)));
    }
  }
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&declaration)) {
    for (const clang::CXXMethodDecl* each : method->overridden_methods()) {
      together.join(member, member_of(*each));
    }
  }
  if (value == nullptr || belongs_to_std(*value) || !types_.carries(value->getType())) {
    return;
  }
  if (!is_changeable(*value)) {
    result_.obstacles.push_back(
        {place_of(sources_, value->getLocation()),
         value->getNameAsString() + " is declared in a file that is not yours", member});
  } else if (is_shared(*value) || (function != nullptr && !is_lambda_call(*function) &&
                                   !value->isTemplated() && value->isExternallyVisible())) {
    note_definition(member, *value);
  }
}

void declared_things::note_definition(groups::member member, const clang::NamedDecl& declaration) {
  const std::string usr = usr_of(declaration);
  result_.together.join(member, result_.together.named("u:" + usr));
  shared_declaration& known = result_.shared[usr];
  known.is_defined |= is_defined(declaration);
  known.where = place_of(sources_, declaration.getLocation());
  known.name = declaration.getQualifiedNameAsString();
  known.group = member;
}

void declared_things::join_with_classes(groups::member member, clang::QualType type) {
  type = type.getNonReferenceType();
  while (type->isAnyPointerType() || type->isArrayType()) {
    type = type->isAnyPointerType() ? type->getPointeeType()
                                    : type->castAsArrayTypeUnsafe()->getElementType();
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) {
    return;
  }
  if (record->isLambda()) {
    if (const clang::CXXMethodDecl* call = record->getLambdaCallOperator()) {
      result_.together.join(member, member_of(*call));
    }
  } else if (!belongs_to_std(*record) && types_.carries(type)) {
    result_.together.join(member, member_of(*record));
  }
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record)) {
    for (const clang::TemplateArgument& each : special->getTemplateArgs().asArray()) {
      if (each.getKind() == clang::TemplateArgument::Type && types_.carries(each.getAsType())) {
        join_with_classes(member, each.getAsType());
      }
    }
  }
}

std::string declared_things::key_of(const clang::FunctionDecl& function) {
  const clang::FunctionDecl& pattern = pattern_of(function);
  return pattern.isExternallyVisible() && !is_lambda_call(pattern)
             ? usr_of(pattern)
             : place_key(*pattern.getCanonicalDecl());
}

std::string declared_things::place_key(const clang::Decl& declaration) const {
  const place where = place_of(sources_, declaration.getLocation());
  return "d:" + where.file + ":" + std::to_string(where.offset);
}

}  // namespace cppless::migrate
