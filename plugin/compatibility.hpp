// SPDX-License-Identifier: Apache-2.0
//
// Everything in which the clang versions we build against differ, and nothing else. Each entry
// names the version that changed and what it changed, so that dropping an old version is a matter
// of deleting its branches. The rest of the plugin never tests CLANG_VERSION_MAJOR.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/Version.h>

#if CLANG_VERSION_MAJOR < 16
#error "cppless needs clang 16 or newer"
#endif

#if CLANG_VERSION_MAJOR >= 18
#include <clang/Basic/ParsedAttrInfo.h>  // 18 moved ParsedAttrInfo out of Sema/ParsedAttr.h
#endif
#include <clang/Sema/ParsedAttr.h>

namespace cppless::plugin::compatibility {

// 18 gave CXXThisExpr a factory function; before, its constructor was used directly.
inline clang::Expr* make_this(clang::ASTContext& context, clang::SourceLocation where,
                              clang::QualType type) {
#if CLANG_VERSION_MAJOR >= 18
  return clang::CXXThisExpr::Create(context, where, type, /*IsImplicit=*/true);
#else
  return new (context) clang::CXXThisExpr(where, type, /*isImplicit=*/true);
#endif
}

// 18 made the enumerations nested in Expr and Decl classes scoped and moved them to the namespace.
#if CLANG_VERSION_MAJOR >= 18
inline constexpr auto ordinary_string = clang::StringLiteralKind::Ordinary;
inline constexpr auto internal_linkage = clang::Linkage::Internal;
inline constexpr auto struct_tag = clang::TagTypeKind::Struct;
inline constexpr auto array_size_normal = clang::ArraySizeModifier::Normal;
#else
inline constexpr auto ordinary_string = clang::StringLiteral::Ordinary;
inline constexpr auto internal_linkage = clang::InternalLinkage;
inline constexpr auto struct_tag = clang::TTK_Struct;
inline constexpr auto array_size_normal = clang::ArrayType::Normal;
#endif

// 18 added template arguments that hold an arbitrary constant (a double, a sub-object address).
inline const clang::APValue* structural_value(const clang::TemplateArgument& argument) {
#if CLANG_VERSION_MAJOR >= 18
  if (argument.getKind() == clang::TemplateArgument::StructuralValue) {
    return &argument.getAsStructuralValue();
  }
#endif
  (void)argument;
  return nullptr;
}

inline clang::QualType structural_type(const clang::TemplateArgument& argument) {
#if CLANG_VERSION_MAJOR >= 18
  return argument.getStructuralValueType();
#else
  (void)argument;
  return {};
#endif
}

}  // namespace cppless::plugin::compatibility
