// SPDX-License-Identifier: Apache-2.0
#include "synthesize.hpp"

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include "compatibility.hpp"

namespace cppless::plugin {

clang::Expr* make_c_string(clang::ASTContext& context, llvm::StringRef text,
                           clang::SourceLocation where) {
  const clang::QualType array = context.getStringLiteralArrayType(context.CharTy, text.size());
  clang::Expr* literal = clang::StringLiteral::Create(context, text, compatibility::ordinary_string,
                                                      /*Pascal=*/false, array, where);
  return clang::ImplicitCastExpr::Create(
      context, context.getPointerType(context.CharTy.withConst()), clang::CK_ArrayToPointerDecay,
      literal, nullptr, clang::VK_PRValue, clang::FPOptionsOverride());
}

clang::Expr* make_int(clang::ASTContext& context, int value, clang::SourceLocation where) {
  const llvm::APInt bits(context.getIntWidth(context.IntTy), value, /*isSigned=*/true);
  return clang::IntegerLiteral::Create(context, bits, context.IntTy, where);
}

clang::CXXMethodDecl* make_method(clang::CXXRecordDecl& record, llvm::StringRef name,
                                  clang::QualType result, method_kind kind) {
  clang::ASTContext& context = record.getASTContext();
  clang::FunctionProtoType::ExtProtoInfo info;
  info.ExceptionSpec.Type = clang::EST_BasicNoexcept;
  if (kind == method_kind::const_member) {
    info.TypeQuals.addConst();
  }
  const clang::QualType type = context.getFunctionType(result, {}, info);
  const clang::SourceLocation where = record.getLocation();
  const clang::DeclarationNameInfo name_info(&context.Idents.get(name), where);
  auto* method = clang::CXXMethodDecl::Create(
      context, &record, where, name_info, type, context.getTrivialTypeSourceInfo(type, where),
      kind == method_kind::static_member ? clang::SC_Static : clang::SC_None,
      /*UsesFPIntrin=*/false, /*isInline=*/true, clang::ConstexprSpecKind::Constexpr, where);
  method->setImplicit();
  method->setAccess(clang::AS_public);
  return method;
}

void set_return_body(clang::CXXMethodDecl& method, clang::Expr* value) {
  clang::ASTContext& context = method.getASTContext();
  const clang::SourceLocation where = method.getLocation();
  clang::Stmt* statement = clang::ReturnStmt::Create(context, where, value, nullptr);
  method.setBody(clang::CompoundStmt::Create(context, statement, clang::FPOptionsOverride(), where,
                                             where));
}

}  // namespace cppless::plugin
