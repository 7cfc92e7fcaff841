// SPDX-License-Identifier: Apache-2.0
//
// Builders for the few declarations the plugin adds to a program. They create AST nodes directly,
// as Sema would after checking; nothing is looked up or checked here.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <llvm/ADT/StringRef.h>

namespace cppless::plugin {

// An expression of type `const char*`: a string literal holding `text`, decayed to a pointer.
clang::Expr* make_c_string(clang::ASTContext& context, llvm::StringRef text,
                           clang::SourceLocation where);

// An int constant.
clang::Expr* make_int(clang::ASTContext& context, int value, clang::SourceLocation where);

// `constexpr result name() noexcept`, implicit and public, not yet added to `record` and without a
// body. `is_static` and `is_const` as in C++.
enum class method_kind { static_member, mutable_member, const_member };
clang::CXXMethodDecl* make_method(clang::CXXRecordDecl& record, llvm::StringRef name,
                                  clang::QualType result, method_kind kind);

// Gives `method` the body `{ return value; }`.
void set_return_body(clang::CXXMethodDecl& method, clang::Expr* value);

}  // namespace cppless::plugin
