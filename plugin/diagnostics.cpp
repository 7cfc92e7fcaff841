// SPDX-License-Identifier: Apache-2.0
#include "diagnostics.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Sema/Sema.h>

#include "annotation.hpp"
#include "obstacle.hpp"

namespace cppless::plugin {
namespace {

enum aspect : unsigned { capture_kind, capture_value, global_variable, result_value, parameter };

std::string capture_name(const clang::LambdaCapture& capture) {
  return capture.capturesVariable() ? capture.getCapturedVar()->getNameAsString() : "*this";
}

// The I-th capture and its field. The two lists run in parallel.
using capture_visitor = llvm::function_ref<void(const clang::LambdaCapture&,
                                                const clang::FieldDecl&)>;
void for_each_capture(const clang::CXXRecordDecl& closure, capture_visitor visit) {
  auto field = closure.field_begin();
  for (const clang::LambdaCapture& capture : closure.captures()) {
    if (!capture.capturesVLAType()) {
      visit(capture, **field);
    }
    ++field;
  }
}

bool is_ours(const clang::CXXRecordDecl& record) {
  for (const clang::DeclContext* scope = record.getDeclContext(); scope != nullptr;
       scope = scope->getParent()) {
    const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope);
    if (space != nullptr && space->getName() == "cppless" &&
        space->getParent()->isTranslationUnit()) {
      return true;
    }
  }
  return false;
}

// The function whose parameters the user wrote: a lambda's or function object's call operator, or
// the function behind cppless::fn<&function>.
const clang::FunctionDecl* called_function(const clang::CXXRecordDecl& callable) {
  if (callable.isLambda()) {
    return callable.getLambdaCallOperator();
  }
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&callable)) {
    for (const clang::TemplateArgument& argument : special->getTemplateArgs().asArray()) {
      if (argument.getKind() == clang::TemplateArgument::Declaration) {
        if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(argument.getAsDecl())) {
          return function;
        }
      }
    }
  }
  for (const clang::CXXMethodDecl* method : callable.methods()) {
    if (method->getOverloadedOperator() == clang::OO_Call) {
      return method;
    }
  }
  return nullptr;
}

}  // namespace

void task_diagnostics::examine(const clang::ClassTemplateSpecializationDecl& specialisation,
                               llvm::StringRef note) {
  const clang::TemplateArgumentList& arguments = specialisation.getTemplateArgs();
  if (arguments.size() == 0 || arguments[0].getKind() != clang::TemplateArgument::Type) {
    return;
  }
  const clang::QualType callable = arguments[0].getAsType();
  const clang::CXXRecordDecl* record = callable->getAsCXXRecordDecl();
  if (note == annotation::dispatched) {
    if (record != nullptr && record->isLambda()) {
      dispatched(*record);
    }
    return;
  }
  const bool usable = arguments.size() == 4 &&
                      arguments[1].getKind() == clang::TemplateArgument::Integral &&
                      arguments[2].getKind() == clang::TemplateArgument::Type &&
                      arguments[3].getKind() == clang::TemplateArgument::Integral;
  if (!usable || arguments[3].getAsIntegral().getBoolValue()) {
    return;
  }
  const int index = static_cast<int>(arguments[1].getAsIntegral().getExtValue());
  if (note == annotation::signature_check) {
    signature_type(callable, index, arguments[2].getAsType());
  } else if (note == annotation::capture_check && record != nullptr && record->isLambda()) {
    capture_type(*record, index, arguments[2].getAsType());
  }
}

void task_diagnostics::dispatched(const clang::CXXRecordDecl& closure) {
  for_each_capture(closure, [&](const auto& capture, const auto& field) {
    check_capture(capture, field);
  });
  const clang::CXXMethodDecl* call = closure.getLambdaCallOperator();
  if (warn_about_globals_ && call != nullptr && call->getBody() != nullptr) {
    check_globals(*call->getBody());
  }
}

void task_diagnostics::check_capture(const clang::LambdaCapture& capture,
                                     const clang::FieldDecl& field) {
  const clang::SourceLocation where = capture.getLocation();
  const clang::QualType type = field.getType();
  if (capture.getCaptureKind() == clang::LCK_This) {
    if (first_time(where, capture_kind)) {
      report(clang::DiagnosticsEngine::Error, where,
             "a task cannot capture 'this': the object stays behind in the host process; capture a "
             "copy with [*this], or the members it uses, as in [member = member]");
      note_dispatch(where);
    }
  } else if (type->isReferenceType()) {
    if (first_time(where, capture_kind)) {
      const bool init_capture =
          capture.capturesVariable() && capture.getCapturedVar()->isInitCapture();
      report(clang::DiagnosticsEngine::Error, where,
             "a task cannot capture '%0' by reference: the variable stays behind in the host "
             "process; capture it by value%select{, as in [%0]|}1, and return what changes")
          << capture_name(capture) << init_capture;
      note_dispatch(where);
    }
  } else {
    check_pointer(capture, type);
    // A captured lambda is sent along, with what it captured.
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record != nullptr && record->isLambda()) {
      dispatched(*record);
    }
  }
}

void task_diagnostics::check_pointer(const clang::LambdaCapture& capture, clang::QualType type) {
  type = sema_->Context.getBaseElementType(type);
  const clang::SourceLocation where = capture.getLocation();
  if (!type->isPointerType() || !first_time(where, capture_kind)) {
    return;
  }
  const std::string name = capture_name(capture);
  if (type->isFunctionPointerType()) {
    report(clang::DiagnosticsEngine::Error, where,
           "a task cannot capture the function pointer '%0': addresses differ between processes; "
           "call the function by its name, or dispatch cppless::fn<&function>")
        << name;
  } else if (type->getPointeeType()->isAnyCharacterType()) {
    report(clang::DiagnosticsEngine::Error, where,
           "a task cannot capture the raw pointer '%0' of type %1: what it points to stays behind "
           "in the host process; capture a string, as in [%0 = std::string(%0)]")
        << name << type.getUnqualifiedType();
  } else {
    report(clang::DiagnosticsEngine::Error, where,
           "a task cannot capture the raw pointer '%0' of type %1: what it points to stays behind "
           "in the host process; capture the value, as in [%0 = *%0], or a container or "
           "std::shared_ptr that owns it")
        << name << type.getUnqualifiedType();
  }
  note_dispatch(where);
}

void task_diagnostics::check_globals(const clang::Stmt& body) {
  if (llvm::isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXTypeidExpr, clang::CXXNoexceptExpr>(
          body)) {
    return;  // mentions, but does not use
  }
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(&body)) {
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) {
      check_global(*variable, reference->getLocation());
    }
  } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(&body)) {
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(member->getMemberDecl())) {
      check_global(*variable, member->getMemberLoc());
    }
  } else if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(&body)) {
    if (lambda->getBody() != nullptr) {
      check_globals(*lambda->getBody());
    }
  }
  for (const clang::Stmt* child : body.children()) {
    if (child != nullptr) {
      check_globals(*child);
    }
  }
}

void task_diagnostics::check_global(const clang::VarDecl& variable, clang::SourceLocation use) {
  const clang::QualType type =
      sema_->Context.getBaseElementType(variable.getType().getNonReferenceType());
  const clang::SourceManager& sources = sema_->getSourceManager();
  if (!variable.hasGlobalStorage() || variable.isConstexpr() || type.isConstQualified() ||
      sources.isInSystemHeader(variable.getLocation())) {
    return;
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if ((record != nullptr && is_ours(*record)) || !first_time(use, global_variable)) {
    return;
  }
  report(clang::DiagnosticsEngine::Warning, use,
         "this task uses %select{the global variable|the static variable|the static member}0 '%1', "
         "which is not const: each worker process has its own, so a change is seen neither by the "
         "host nor by other tasks")
      << (variable.isStaticDataMember() ? 2 : variable.isStaticLocal() ? 1 : 0)
      << variable.getNameAsString();
}

void task_diagnostics::capture_type(const clang::CXXRecordDecl& closure, int index,
                                    clang::QualType type) {
  int current = 0;
  for_each_capture(closure, [&](const auto& capture, const auto& field) {
    if (current++ == index) {
      unserialisable_capture(capture, field, type);
    }
  });
}

void task_diagnostics::unserialisable_capture(const clang::LambdaCapture& capture,
                                              const clang::FieldDecl& field, clang::QualType type) {
  const clang::QualType base = sema_->Context.getBaseElementType(field.getType());
  const clang::SourceLocation where = capture.getLocation();
  if (base->isReferenceType() || base->isPointerType() || !first_time(where, capture_value)) {
    return;  // `dispatched` says it
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record != nullptr && record->isLambda()) {
    // A captured lambda: the mistake is in one of its own captures.
    bool found_cause = false;
    for_each_capture(*record, [&](const auto& inner, const auto& held) {
      if (has_obstacle(sema_->Context, held.getType())) {
        unserialisable_capture(inner, held, held.getType().getNonReferenceType());
        found_cause = true;
      }
    });
    if (found_cause) {
      return;
    }
  }
  const obstacle found = find_obstacle(sema_->Context, type);
  report(clang::DiagnosticsEngine::Error, where,
         "the capture '%0' of type %1 cannot be sent to a task: %2")
      << capture_name(capture) << type.getUnqualifiedType() << found.reason;
  explain(where, found.needs_code);
}

void task_diagnostics::signature_type(clang::QualType callable, int index, clang::QualType type) {
  const clang::CXXRecordDecl* record = callable->getAsCXXRecordDecl();
  const clang::FunctionDecl* function = record != nullptr ? called_function(*record) : nullptr;
  clang::SourceLocation where =
      record != nullptr ? record->getLocation() : clang::SourceLocation();
  const obstacle found = find_obstacle(sema_->Context, type);
  if (index < 0) {
    if (function != nullptr && function->getReturnTypeSourceRange().isValid()) {
      where = function->getReturnTypeSourceRange().getBegin();
    }
    if (first_time(where, result_value)) {
      report(clang::DiagnosticsEngine::Error, where,
             "the result of this task, of type %0, cannot be sent back: %1")
          << type << found.reason;
      explain(where, found.needs_code);
    }
    return;
  }
  std::string name = "number " + std::to_string(index + 1);
  if (function != nullptr && static_cast<unsigned>(index) < function->getNumParams()) {
    const clang::ParmVarDecl* written = function->getParamDecl(index);
    where = written->getLocation();
    name = written->getDeclName().isEmpty() ? name : "'" + written->getNameAsString() + "'";
  }
  if (first_time(where, parameter + static_cast<unsigned>(index))) {
    report(clang::DiagnosticsEngine::Error, where,
           "the parameter %0 of this task, of type %1, cannot be sent: %2")
        << name << type << found.reason;
    explain(where, found.needs_code);
  }
}

bool task_diagnostics::first_time(clang::SourceLocation where, unsigned aspect) {
  return reported_.insert({where.getRawEncoding(), aspect}).second;
}

clang::DiagnosticBuilder task_diagnostics::report(clang::DiagnosticsEngine::Level level,
                                                  clang::SourceLocation where,
                                                  llvm::StringRef text) {
  clang::DiagnosticsEngine& diagnostics = sema_->getDiagnostics();
  const auto severity = level == clang::DiagnosticsEngine::Error     ? clang::DiagnosticIDs::Error
                        : level == clang::DiagnosticsEngine::Warning ? clang::DiagnosticIDs::Warning
                                                                     : clang::DiagnosticIDs::Note;
  return diagnostics.Report(where, diagnostics.getDiagnosticIDs()->getCustomDiagID(severity, text));
}

void task_diagnostics::explain(clang::SourceLocation where,
                               const clang::CXXRecordDecl* needs_code) {
  if (needs_code != nullptr) {
    report(clang::DiagnosticsEngine::Note, needs_code->getLocation(), "give %0 a member: %1")
        << sema_->Context.getTypeDeclType(needs_code) << serialize_function_for(*needs_code);
  }
  note_dispatch(where);
}

void task_diagnostics::note_dispatch(clang::SourceLocation where) {
  if (sema_->CodeSynthesisContexts.empty()) {
    return;
  }
  // The outermost instantiation under way is what the user asked for; a point in another file is
  // the library's own business.
  const clang::SourceLocation user = sema_->CodeSynthesisContexts.front().PointOfInstantiation;
  const clang::SourceManager& sources = sema_->getSourceManager();
  if (user.isValid() && sources.getFileID(sources.getExpansionLoc(user)) ==
                            sources.getFileID(sources.getExpansionLoc(where))) {
    report(clang::DiagnosticsEngine::Note, user, "it is made a task here");
  }
}

}  // namespace cppless::plugin
