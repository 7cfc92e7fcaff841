// SPDX-License-Identifier: Apache-2.0
#include "standard_names.hpp"

#include <llvm/ADT/StringSwitch.h>

namespace cppless::migrate {
namespace {

llvm::StringRef name_of(const clang::NamedDecl& declaration) {
  const clang::IdentifierInfo* name = declaration.getIdentifier();
  return name != nullptr ? name->getName() : llvm::StringRef();
}

bool is_migrated_name(llvm::StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("future", "shared_future", "promise", "packaged_task", true)
      .Default(false);
}

// The name of the std class that `function` is a member of; bases like libstdc++'s __basic_future
// are named by what follows their underscores.
llvm::StringRef standard_class_of(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  if (method == nullptr || !belongs_to_std(*method)) {
    return {};
  }
  return name_of(*method->getParent()).ltrim('_');
}

}  // namespace

bool is_migrated_class(const clang::TemplateDecl* declaration) {
  return declaration != nullptr && declaration->isInStdNamespace() &&
         llvm::isa<clang::ClassTemplateDecl>(declaration) &&
         is_migrated_name(name_of(*declaration));
}

bool is_async(const clang::NamedDecl* declaration) {
  if (declaration == nullptr) {
    return false;
  }
  declaration = declaration->getUnderlyingDecl();
  return declaration->isInStdNamespace() && name_of(*declaration) == "async" &&
         llvm::isa<clang::FunctionDecl, clang::FunctionTemplateDecl>(declaration) &&
         !declaration->isCXXClassMember();
}

bool belongs_to_std(const clang::Decl& declaration) {
  for (const clang::DeclContext* each = declaration.getDeclContext(); each != nullptr;
       each = each->getParent()) {
    if (each->isStdNamespace()) {
      return true;
    }
  }
  return false;
}

bool is_launch(clang::QualType type) {
  const auto* enumeration = type.getNonReferenceType()->getAs<clang::EnumType>();
  return enumeration != nullptr && enumeration->getDecl()->isInStdNamespace() &&
         name_of(*enumeration->getDecl()) == "launch";
}

bool is_lock(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->isInStdNamespace() &&
         llvm::StringSwitch<bool>(name_of(*record))
             .Cases("lock_guard", "unique_lock", "scoped_lock", "shared_lock", true)
             .Default(false);
}

bool waits_for_future(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  if (method == nullptr) {
    return false;
  }
  // Of fibers too: what has been migrated before waits as it did.
  const bool ours = llvm::StringRef(method->getParent()->getQualifiedNameAsString())
                        .starts_with("cppless::fiber::");
  const llvm::StringRef type =
      ours ? name_of(*method->getParent()) : standard_class_of(function);
  return (type.ends_with("future") || type.ends_with("future_base")) &&
         llvm::StringSwitch<bool>(name_of(function))
             .Cases("get", "wait", "wait_for", "wait_until", true)
             .Default(false);
}

bool pauses_thread(const clang::NamedDecl& function) {
  const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(
      function.getDeclContext()->getEnclosingNamespaceContext());
  return space != nullptr && space->getName() == "this_thread" && belongs_to_std(*space) &&
         llvm::StringSwitch<bool>(name_of(function))
             .Cases("sleep_for", "sleep_until", "yield", true)
             .Default(false);
}

bool acts_at_thread_exit(const clang::FunctionDecl& function) {
  return is_migrated_name(standard_class_of(function)) &&
         name_of(function).ends_with("_at_thread_exit");
}

std::optional<std::string> needs_own_thread(const clang::FunctionDecl& function) {
  const llvm::StringRef name = name_of(function);
  const llvm::StringRef type = standard_class_of(function);
  const bool waits =
      llvm::StringSwitch<bool>(type)
          .Cases("condition_variable", "condition_variable_any", "latch", name.starts_with("wait"))
          .Cases("barrier", "counting_semaphore", name.contains("wait") || name.contains("acquire"))
          .Default(false) ||
      (type == "latch" && name == "arrive_and_wait");
  if (waits) {
    return "waits with std::" + type.str() + ", which would hold a worker of the fiber runtime";
  }
  if (type.empty() && name == "get_id" && belongs_to_std(function)) {
    return "asks for the id of its thread";
  }
  if (function.isExternC() && (name == "gettid" || name.starts_with("pthread_self") ||
                               name == "pthread_getspecific" || name == "pthread_setspecific")) {
    return "calls " + name.str() + ", whose result belongs to a thread";
  }
  return std::nullopt;
}

}  // namespace cppless::migrate
