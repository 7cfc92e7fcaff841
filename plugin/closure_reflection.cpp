// SPDX-License-Identifier: Apache-2.0
#include "closure_reflection.hpp"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <llvm/ADT/SmallVector.h>

#include "compatibility.hpp"
#include "synthesize.hpp"

namespace cppless::plugin {
namespace {

// Template parameters are numbered by depth: how many template argument lists surround them. In an
// instantiation those outer lists stay, so a template inside a lambda inside f<int> has depth 1.
unsigned enclosing_template_depth(const clang::CXXRecordDecl& closure) {
  unsigned depth = 0;
  for (const clang::DeclContext* scope = closure.getDeclContext(); !scope->isFileContext();
       scope = scope->getParent()) {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(scope)) {
      if (function->getTemplateSpecializationKind() == clang::TSK_ExplicitSpecialization) {
        break;
      }
      if (function->getTemplateSpecializationArgs() != nullptr) {
        ++depth;
      }
    } else if (const auto* record =
                   llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(scope)) {
      if (record->isExplicitSpecialization()) {
        break;
      }
      ++depth;
    }
  }
  return depth;
}

// `this->field` as an lvalue of the captured object.
clang::Expr* make_field_access(clang::CXXMethodDecl& method, clang::FieldDecl& field) {
  clang::ASTContext& context = method.getASTContext();
  const clang::SourceLocation where = method.getLocation();
  clang::QualType type = field.getType();
  if (type->isReferenceType()) {
    type = type.getNonReferenceType();
  } else if (method.isConst()) {
    type.addConst();
  }
  clang::Expr* self = compatibility::make_this(context, where, method.getThisType());
  return clang::MemberExpr::CreateImplicit(context, self, /*IsArrow=*/true, &field, type,
                                           clang::VK_LValue, clang::OK_Ordinary);
}

void add_specialisation(clang::CXXRecordDecl& closure, clang::FunctionTemplateDecl& capture,
                        clang::FieldDecl& field, int index, method_kind kind) {
  clang::ASTContext& context = closure.getASTContext();
  clang::QualType type = field.getType().getNonReferenceType();
  if (kind == method_kind::const_member && !field.getType()->isReferenceType()) {
    type.addConst();
  }
  auto* method = make_method(closure, "capture", context.getLValueReferenceType(type), kind);
  set_return_body(*method, make_field_access(*method, field));
  // Else the optimiser would spend more time on each of these than on what uses it.
  method->addAttr(clang::AlwaysInlineAttr::CreateImplicit(context));

  const llvm::APSInt value(llvm::APInt(context.getIntWidth(context.IntTy), index),
                           /*isUnsigned=*/false);
  const clang::TemplateArgument argument(context, value, context.IntTy);
  auto* arguments = clang::TemplateArgumentList::CreateCopy(context, argument);
  void* insert_position = nullptr;
  capture.findSpecialization(arguments->asArray(), insert_position);
  method->setFunctionTemplateSpecialization(&capture, arguments, insert_position,
                                            clang::TSK_ExplicitSpecialization);
}

void add_capture_template(clang::CXXRecordDecl& closure, llvm::ArrayRef<clang::FieldDecl*> fields,
                          method_kind kind) {
  clang::ASTContext& context = closure.getASTContext();
  const clang::SourceLocation where = closure.getLocation();
  auto* parameter = clang::NonTypeTemplateParmDecl::Create(
      context, &closure, where, where, enclosing_template_depth(closure), /*Position=*/0,
      &context.Idents.get("I"), context.IntTy, /*ParameterPack=*/false,
      context.getTrivialTypeSourceInfo(context.IntTy, where));
  parameter->setImplicit();
  clang::NamedDecl* const parameters[] = {parameter};
  auto* list = clang::TemplateParameterList::Create(context, where, where, parameters, where,
                                                    /*RequiresClause=*/nullptr);
  const clang::QualType result = context.getLValueReferenceType(context.getAutoDeductType());
  auto* pattern = make_method(closure, "capture", result, kind);
  auto* capture = clang::FunctionTemplateDecl::Create(context, &closure, where,
                                                      pattern->getDeclName(), list, pattern);
  parameter->setDeclContext(pattern);
  pattern->setDescribedFunctionTemplate(capture);
  capture->setAccess(clang::AS_public);
  capture->setImplicit();
  closure.addDecl(capture);

  int index = 0;
  for (clang::FieldDecl* field : fields) {
    add_specialisation(closure, *capture, *field, index++, kind);
  }
}

}  // namespace

void add_closure_reflection(clang::CXXRecordDecl& closure) {
  llvm::SmallVector<clang::FieldDecl*, 8> fields;
  for (clang::FieldDecl* field : closure.fields()) {
    if (!field->hasCapturedVLAType()) {  // the hidden length of a captured variable-length array
      fields.push_back(field);
    }
  }
  clang::ASTContext& context = closure.getASTContext();
  auto* count =
      make_method(closure, "capture_count", context.IntTy, method_kind::static_member);
  set_return_body(*count, make_int(context, static_cast<int>(fields.size()), count->getLocation()));
  closure.addDecl(count);
  if (!fields.empty()) {
    add_capture_template(closure, fields, method_kind::mutable_member);
    add_capture_template(closure, fields, method_kind::const_member);
  }
}

}  // namespace cppless::plugin
