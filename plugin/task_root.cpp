// SPDX-License-Identifier: Apache-2.0
#include "task_root.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <llvm/ADT/StringExtras.h>

#include "compatibility.hpp"
#include "stable_name.hpp"
#include "synthesize.hpp"

namespace cppless::plugin {
namespace {

// The library's `entry::root_symbol` must agree.
std::string root_symbol(const std::string& task) {
  std::uint64_t value = 0xcbf29ce484222325;  // FNV-1a
  for (const char character : task) {
    value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  }
  value ^= value >> 32;
  std::string digits = llvm::utohexstr(value, /*LowerCase=*/true);
  return "cppless_task_" + std::string(16 - digits.size(), '0') + digits;
}

clang::VarDecl* record_of(const clang::ClassTemplateSpecializationDecl& entry) {
  for (clang::Decl* member : entry.decls()) {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(member);
    if (variable != nullptr && variable->getName() == "record") {
      return variable->getDefinition() != nullptr && variable->isUsed(false) ? variable : nullptr;
    }
  }
  return nullptr;
}

clang::VarDecl* make_root(clang::ASTContext& context, const std::string& symbol,
                          clang::VarDecl& record) {
  const clang::SourceLocation where = record.getLocation();
  // Not a constant: those are internal to their unit.
  const clang::QualType type = context.getPointerType(context.VoidTy.withConst());
  clang::Expr* name = clang::DeclRefExpr::Create(
      context, clang::NestedNameSpecifierLoc(), clang::SourceLocation(), &record,
      /*RefersToEnclosingVariableOrCapture=*/false, where, record.getType(), clang::VK_LValue);
  clang::Expr* address = clang::UnaryOperator::Create(
      context, name, clang::UO_AddrOf, context.getPointerType(record.getType()), clang::VK_PRValue,
      clang::OK_Ordinary, where, /*CanOverflow=*/false, clang::FPOptionsOverride());
  clang::Expr* value = clang::ImplicitCastExpr::Create(
      context, type, clang::CK_BitCast, address, nullptr, clang::VK_PRValue,
      clang::FPOptionsOverride());
  clang::TranslationUnitDecl* unit = context.getTranslationUnitDecl();
  auto* root = clang::VarDecl::Create(context, unit, where, where, &context.Idents.get(symbol),
                                      type, context.getTrivialTypeSourceInfo(type, where),
                                      clang::SC_None);
  root->setInit(value);
  root->setImplicit();
  root->addAttr(clang::AsmLabelAttr::CreateImplicit(context, symbol, /*IsLiteralLabel=*/true));
  root->addAttr(clang::WeakAttr::CreateImplicit(context));
  root->addAttr(clang::UsedAttr::CreateImplicit(context));
  root->addAttr(clang::VisibilityAttr::CreateImplicit(context, clang::VisibilityAttr::Hidden));
  unit->addDecl(root);
  return root;
}

}  // namespace

void task_roots::emit(clang::ASTContext& context, stable_names& names,
                      clang::ASTConsumer& consumer) {
  for (clang::ClassTemplateSpecializationDecl* entry : entries_) {
    if (clang::VarDecl* record = record_of(*entry)) {
      const std::string symbol = root_symbol(names.name_of(context.getTagDeclType(entry)));
      consumer.HandleTopLevelDecl(clang::DeclGroupRef(make_root(context, symbol, *record)));
    }
  }
}

}  // namespace cppless::plugin
