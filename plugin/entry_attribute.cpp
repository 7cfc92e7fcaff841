// SPDX-License-Identifier: Apache-2.0
#include "entry_attribute.hpp"

#include <clang/AST/Attr.h>
#include <clang/Sema/Lookup.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaDiagnostic.h>

#include <map>
#include <mutex>

#include "annotation.hpp"
#include "compatibility.hpp"

namespace cppless::plugin {
namespace {

struct units {
  std::mutex mutex;
  std::map<const clang::Sema*, raw_entries*> by_sema;
};

units& all_units() {
  static units instance;
  return instance;
}

void report_error(clang::Sema& sema, clang::SourceLocation where, const char* text) {
  clang::DiagnosticsEngine& diagnostics = sema.getDiagnostics();
  sema.Diag(where, diagnostics.getDiagnosticIDs()->getCustomDiagID(
                       clang::DiagnosticIDs::Error, text));
}

bool is_char_pointer_pointer(clang::ASTContext& context, clang::QualType type) {
  // main takes `char const* const*` and the like as well; so does an entry.
  clang::QualifierCollector qualifiers;
  const auto* outer = qualifiers.strip(type)->getAs<clang::PointerType>();
  const auto* inner = outer == nullptr
                          ? nullptr
                          : qualifiers.strip(outer->getPointeeType())->getAs<clang::PointerType>();
  if (inner == nullptr ||
      !context.hasSameType(clang::QualType(qualifiers.strip(inner->getPointeeType()), 0),
                           context.CharTy)) {
    return false;
  }
  qualifiers.removeConst();
  return qualifiers.empty();
}

// Whether the attribute may stand on `declaration`; if not, says why.
clang::FunctionDecl* attributed_function(clang::Sema& sema, clang::Decl* declaration,
                                         const clang::ParsedAttr& attribute, const char* message) {
  auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(function);
  if (function == nullptr || (method != nullptr && !method->isStatic())) {
    report_error(sema, attribute.getLoc(), message);
    return nullptr;
  }
  return function;
}

class entry_attribute final : public clang::ParsedAttrInfo {
 public:
  entry_attribute() {
    static constexpr Spelling spellings[] = {
        {clang::AttributeCommonInfo::AS_GNU, "entry"},
        {clang::AttributeCommonInfo::AS_CXX11, "cppless::entry"},
    };
    Spellings = spellings;
  }

  AttrHandling handleDeclAttribute(clang::Sema& sema, clang::Decl* declaration,
                                   const clang::ParsedAttr& attribute) const override {
    clang::FunctionDecl* function =
        attributed_function(sema, declaration, attribute,
                            "'entry' attribute only applies to functions and static member "
                            "functions");
    if (function == nullptr) {
      return AttributeNotApplied;
    }
    if (function->getDescribedFunctionTemplate() != nullptr) {
      sema.Diag(function->getLocation(), clang::diag::err_mainlike_template_decl) << function;
      function->setInvalidDecl();
      return AttributeNotApplied;
    }
    clang::ASTContext& context = sema.Context;
    add_annotation(*function, annotation::entry);
    if (!function->hasAttr<clang::UsedAttr>()) {
      // `used` makes clang instantiate and emit the function though nothing refers to it.
      function->addAttr(clang::UsedAttr::CreateImplicit(context));
    }
    if (!function->getType()->isDependentType()) {
      check_like_main(sema, *function);
    }
    raw_entries* entries = raw_entries::of(sema);
    if (entries != nullptr && !function->isDependentContext()) {
      entries->declared(*function);
    }
    return AttributeApplied;
  }
};

class metadata_attribute final : public clang::ParsedAttrInfo {
 public:
  metadata_attribute() {
    static constexpr Spelling spellings[] = {
        {clang::AttributeCommonInfo::AS_GNU, "metadata"},
        {clang::AttributeCommonInfo::AS_GNU, "meta"},
        {clang::AttributeCommonInfo::AS_CXX11, "cppless::metadata"},
        {clang::AttributeCommonInfo::AS_CXX11, "cppless::meta"},
        // clang parses arguments only of attributes whose name it finds without the namespace.
        {clang::AttributeCommonInfo::AS_CXX11, "metadata"},
        {clang::AttributeCommonInfo::AS_CXX11, "meta"},
    };
    Spellings = spellings;
    NumArgs = 1;
  }

  AttrHandling handleDeclAttribute(clang::Sema& sema, clang::Decl* declaration,
                                   const clang::ParsedAttr& attribute) const override {
    clang::FunctionDecl* function = attributed_function(
        sema, declaration, attribute,
        "'metadata' attribute only applies to functions with the 'entry' attribute");
    clang::Expr* value = function == nullptr ? nullptr : argument(sema, attribute);
    if (value == nullptr) {
      return AttributeNotApplied;
    }
    if (!value->isValueDependent() && !value->isTypeDependent() && !is_constant(sema, *value)) {
      report_error(sema, value->getExprLoc(),
                   "the argument of 'metadata' is not a constant expression");
      return AttributeNotApplied;
    }
    sema.AddAnnotationAttr(function, attribute, annotation::metadata, value);
    if (raw_entries* entries = raw_entries::of(sema)) {
      entries->has_metadata(*function);
    }
    return AttributeApplied;
  }

 private:
  static bool is_constant(clang::Sema& sema, clang::Expr& value) {
    if (value.getType()->isArrayType()) {
      return true;  // AddAnnotationAttr takes its address and checks that
    }
    clang::Expr::EvalResult result;
    return value.EvaluateAsRValue(result, sema.Context, /*InConstantContext=*/true) &&
           !result.HasSideEffects;
  }

  // clang parses a lone name in an attribute it does not know as a name, not as an expression.
  static clang::Expr* argument(clang::Sema& sema, const clang::ParsedAttr& attribute) {
    if (attribute.isArgExpr(0)) {
      return attribute.getArgAsExpr(0);
    }
    const clang::IdentifierLoc* name = attribute.getArgAsIdent(0);
    clang::LookupResult found(sema, name->Ident, name->Loc, clang::Sema::LookupOrdinaryName);
    sema.LookupName(found, sema.getCurScope());
    if (found.empty()) {
      sema.Diag(name->Loc, clang::diag::err_undeclared_var_use) << name->Ident;
      return nullptr;
    }
    const clang::ExprResult expression =
        sema.BuildDeclarationNameExpr(clang::CXXScopeSpec(), found, /*NeedsADL=*/false);
    return expression.isInvalid() ? nullptr : expression.get();
  }
};

}  // namespace

void raw_entries::set_sema(clang::Sema* sema) {
  const std::lock_guard lock(all_units().mutex);
  if (sema_ != nullptr) {
    all_units().by_sema.erase(sema_);
  }
  sema_ = sema;
  if (sema_ != nullptr) {
    all_units().by_sema[sema_] = this;
  }
}

raw_entries* raw_entries::of(const clang::Sema& sema) {
  const std::lock_guard lock(all_units().mutex);
  const auto found = all_units().by_sema.find(&sema);
  return found == all_units().by_sema.end() ? nullptr : found->second;
}

void raw_entries::class_instantiated(clang::CXXRecordDecl& record) {
  for (clang::CXXMethodDecl* method : record.methods()) {
    if (!method->hasAttrs() || find_annotation(*method, annotation::entry) == nullptr) {
      continue;
    }
    if (find_annotation(*method->getTemplateInstantiationPattern(), annotation::entry) == nullptr) {
      continue;
    }
    check_like_main(*sema_, *method);
    declared(*method);
  }
}

void check_like_main(clang::Sema& sema, clang::FunctionDecl& function) {
  // Sema::CheckMain does the same, but also forbids `static`, which an entry may be.
  clang::ASTContext& context = sema.Context;
  const auto* type = function.getType()->castAs<clang::FunctionProtoType>();
  if (context.hasSameType(type->getReturnType(), context.IntTy)) {
    function.setHasImplicitReturnZero(true);
  } else {
    sema.Diag(function.getTypeSpecStartLoc(), clang::diag::err_main_returns_nonint);
    function.setInvalidDecl();
  }
  unsigned count = type->getNumParams();
  if (count > 3) {
    sema.Diag(function.getLocation(), clang::diag::err_main_surplus_args) << count;
    function.setInvalidDecl();
    count = 3;
  }
  const clang::QualType vector =
      context.getPointerType(context.getPointerType(context.CharTy));
  for (unsigned index = 0; index != count; ++index) {
    const clang::QualType expected = index == 0 ? context.IntTy : vector;
    const clang::QualType actual = type->getParamType(index);
    if (context.hasSameUnqualifiedType(actual, expected) ||
        (index > 0 && is_char_pointer_pointer(context, actual))) {
      continue;
    }
    sema.Diag(function.getLocation(), clang::diag::err_main_arg_wrong) << index << expected;
    function.setInvalidDecl();
  }
  if (count == 1 && !function.isInvalidDecl()) {
    sema.Diag(function.getLocation(), clang::diag::warn_main_one_arg);
  }
}

}  // namespace cppless::plugin

static clang::ParsedAttrInfoRegistry::Add<cppless::plugin::entry_attribute> entry_registration(
    "cppless-entry", "makes a function the entry point of an executable of its own");
static clang::ParsedAttrInfoRegistry::Add<cppless::plugin::metadata_attribute>
    metadata_registration("cppless-metadata", "text for the manifest entry of an entry point");
