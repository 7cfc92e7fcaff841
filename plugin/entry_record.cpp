// SPDX-License-Identifier: Apache-2.0
//
// The records of raw entries: for each entry a constant in section `cppless_raw_entries`, as if the
// program had written
//
//   struct cppless_raw_entry { int (*function)(int, char**); const char* mangled_name;
//                              const char* user_meta; unsigned long user_meta_size; };
//   [[gnu::section("cppless_raw_entries"), gnu::used, gnu::retain]]
//   static const cppless_raw_entry cppless_raw_entry_of_<mangled name> = {...};
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Mangle.h>
#include <clang/Sema/Sema.h>

#include "annotation.hpp"
#include "compatibility.hpp"
#include "entry_attribute.hpp"
#include "metadata.hpp"
#include "synthesize.hpp"

namespace cppless::plugin {
namespace {

class record_writer {
 public:
  explicit record_writer(clang::Sema& sema)
      : sema_(sema), context_(sema.Context), mangler_(context_.createMangleContext()) {}

  // The constant for `entry`, or null if its metadata is unusable (reported).
  clang::VarDecl* write(clang::FunctionDecl& entry) {
    std::string meta;
    if (const auto* attribute = find_annotation(entry, annotation::metadata)) {
      const clang::Expr& value = **attribute->args_begin();
      std::optional<std::string> text = metadata_text(context_, value);
      if (!text) {
        report_metadata(entry, value);
        return nullptr;
      }
      meta = std::move(*text);
    }
    return make_variable(entry, mangled_name(entry), meta);
  }

 private:
  void report_metadata(const clang::FunctionDecl& entry, const clang::Expr& value) {
    clang::DiagnosticsEngine& diagnostics = sema_.getDiagnostics();
    const clang::SourceLocation where =
        value.getExprLoc().isValid() ? value.getExprLoc() : entry.getLocation();
    const clang::QualType pointee = value.getType()->getPointeeType();
    const bool array = !pointee.isNull() && pointee->isArrayType();  // clang takes its address
    diagnostics.Report(where, diagnostics.getCustomDiagID(
                                  clang::DiagnosticsEngine::Error,
                                  "the argument of 'metadata' must be a string literal or a "
                                  "constant object that holds a char array, not %0"))
        << (array ? pointee : value.getType());
  }

  std::string mangled_name(const clang::FunctionDecl& entry) {
    if (!mangler_->shouldMangleDeclName(&entry)) {
      return entry.getNameAsString();
    }
    std::string name;
    llvm::raw_string_ostream out(name);
    mangler_->mangleName(clang::GlobalDecl(&entry), out);
    return out.str();
  }

  clang::QualType function_pointer() {
    const clang::QualType vector =
        context_.getPointerType(context_.getPointerType(context_.CharTy));
    const clang::QualType function = context_.getFunctionType(
        context_.IntTy, {context_.IntTy, vector}, clang::FunctionProtoType::ExtProtoInfo());
    return context_.getPointerType(function);
  }

  clang::RecordDecl& record_type() {
    if (record_type_ == nullptr) {
      record_type_ = context_.buildImplicitRecord("cppless_raw_entry", compatibility::struct_tag);
      record_type_->startDefinition();
      const clang::QualType text = context_.getPointerType(context_.CharTy.withConst());
      add_field("function", function_pointer());
      add_field("mangled_name", text);
      add_field("user_meta", text);
      add_field("user_meta_size", context_.getSizeType());
      record_type_->completeDefinition();
      context_.getTranslationUnitDecl()->addDecl(record_type_);
    }
    return *record_type_;
  }

  void add_field(llvm::StringRef name, clang::QualType type) {
    auto* field = clang::FieldDecl::Create(
        context_, record_type_, clang::SourceLocation(), clang::SourceLocation(),
        &context_.Idents.get(name), type, nullptr, nullptr, /*Mutable=*/false, clang::ICIS_NoInit);
    field->setAccess(clang::AS_public);
    record_type_->addDecl(field);
  }

  clang::Expr* address_of(clang::FunctionDecl& entry) {
    const clang::SourceLocation where = entry.getLocation();
    clang::Expr* name = clang::DeclRefExpr::Create(
        context_, clang::NestedNameSpecifierLoc(), clang::SourceLocation(), &entry,
        /*RefersToEnclosingVariableOrCapture=*/false, where, entry.getType(), clang::VK_LValue);
    const clang::QualType own = context_.getPointerType(entry.getType());
    clang::Expr* address =
        clang::ImplicitCastExpr::Create(context_, own, clang::CK_FunctionToPointerDecay, name,
                                        nullptr, clang::VK_PRValue, clang::FPOptionsOverride());
    // An entry may leave out argv or take the environment, as main may.
    return clang::ImplicitCastExpr::Create(context_, function_pointer(), clang::CK_BitCast, address,
                                           nullptr, clang::VK_PRValue, clang::FPOptionsOverride());
  }

  clang::VarDecl* make_variable(clang::FunctionDecl& entry, const std::string& name,
                                const std::string& meta) {
    const clang::SourceLocation where = entry.getLocation();
    const clang::QualType type = context_.getRecordType(&record_type()).withConst();
    const clang::QualType size = context_.getSizeType();
    clang::Expr* const values[] = {
        address_of(entry), make_c_string(context_, name, where),
        make_c_string(context_, meta, where),
        clang::IntegerLiteral::Create(
            context_, llvm::APInt(context_.getIntWidth(size), meta.size()), size, where)};
    auto* initialiser = new (context_) clang::InitListExpr(context_, where, values, where);
    initialiser->setType(type);

    clang::TranslationUnitDecl* unit = context_.getTranslationUnitDecl();
    auto* variable = clang::VarDecl::Create(
        context_, unit, where, where, &context_.Idents.get("cppless_raw_entry_of_" + name), type,
        context_.getTrivialTypeSourceInfo(type, where), clang::SC_Static);
    variable->setInit(initialiser);
    variable->setImplicit();
    variable->addAttr(clang::SectionAttr::CreateImplicit(context_, "cppless_raw_entries"));
    variable->addAttr(clang::UsedAttr::CreateImplicit(context_));
    variable->addAttr(clang::RetainAttr::CreateImplicit(context_));
    unit->addDecl(variable);
    return variable;
  }

  clang::Sema& sema_;
  clang::ASTContext& context_;
  std::unique_ptr<clang::MangleContext> mangler_;
  clang::RecordDecl* record_type_ = nullptr;
};

}  // namespace

void raw_entries::emit_records(clang::ASTConsumer& consumer) {
  clang::DiagnosticsEngine& diagnostics = sema_->getDiagnostics();
  for (const clang::FunctionDecl* function : with_metadata_) {
    if (find_annotation(*function, annotation::entry) == nullptr) {
      diagnostics.Report(function->getLocation(),
                         diagnostics.getCustomDiagID(
                             clang::DiagnosticsEngine::Error,
                             "'metadata' attribute only applies to functions with the 'entry' "
                             "attribute"));
    }
  }
  if (declared_.empty()) {
    return;
  }
  record_writer writer(*sema_);
  llvm::SmallPtrSet<const clang::FunctionDecl*, 8> written;
  for (clang::FunctionDecl* function : declared_) {
    clang::FunctionDecl* definition = function->getDefinition();
    const bool elsewhere = function->getTemplateSpecializationKind() ==
                           clang::TSK_ExplicitInstantiationDeclaration;
    if (definition == nullptr || elsewhere || definition->isInvalidDecl() ||
        !written.insert(function->getCanonicalDecl()).second) {
      continue;
    }
    if (clang::VarDecl* record = writer.write(*definition)) {
      consumer.HandleTopLevelDecl(clang::DeclGroupRef(record));
    }
  }
}

}  // namespace cppless::plugin
