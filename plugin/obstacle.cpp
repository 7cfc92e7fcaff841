// SPDX-License-Identifier: Apache-2.0
#include "obstacle.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSwitch.h>

namespace cppless::plugin {
namespace {

// Members named like cereal's customisation points, whatever their signature.
bool has_serialisation_code(const clang::CXXRecordDecl& record) {
  for (const clang::Decl* member : record.decls()) {
    const auto* named = llvm::dyn_cast<clang::NamedDecl>(member);
    if (named == nullptr || named->getDeclName().getAsIdentifierInfo() == nullptr) {
      continue;
    }
    const llvm::StringRef name = named->getName();
    if (name == "serialize" || name == "save" || name == "load" || name == "save_minimal" ||
        name == "load_minimal" || name == "load_and_construct") {
      return true;
    }
  }
  return false;
}

llvm::StringRef standard_type_obstacle(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases("mutex", "recursive_mutex", "shared_mutex", "timed_mutex", "condition_variable",
             "locks work within one process only")
      .Cases("unique_lock", "lock_guard", "scoped_lock", "shared_lock",
             "locks work within one process only")
      .Cases("thread", "jthread", "future", "promise", "shared_future",
             "threads and their results belong to one process")
      .Cases("basic_ifstream", "basic_ofstream", "basic_fstream", "basic_ostream", "basic_istream",
             "streams belong to one process; open the file inside the task")
      .Case("function", "std::function hides what it calls; make it a cppless::task or capture the "
                        "lambda itself")
      .Cases("basic_string_view", "span",
             "it is a view of memory that stays behind; use the container that owns the elements")
      .Case("reference_wrapper", "it is a reference to an object that stays behind; use its value")
      .Default("");
}

class search {
 public:
  explicit search(clang::ASTContext& context) : context_(context) {}

  // The obstacle in `type`, or one with an empty reason. `path` names the member, for the message.
  obstacle in(clang::QualType type, const std::string& path) {
    type = context_.getCanonicalType(type).getUnqualifiedType();
    if (type->isReferenceType()) {
      return {subject(path, type) + " is a reference", nullptr};
    }
    if (type->isFunctionPointerType()) {
      return {subject(path, type) + " is a function pointer; use cppless::fn<&function>", nullptr};
    }
    if (type->isPointerType() || type->isMemberPointerType()) {
      return {subject(path, type) + " is a raw pointer; use a container, std::unique_ptr or "
                                    "std::shared_ptr",
              nullptr};
    }
    if (const clang::ArrayType* array = context_.getAsArrayType(type)) {
      return in(array->getElementType(), path);
    }
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record == nullptr || !seen_.insert(record).second) {
      return {};
    }
    if (!record->hasDefinition()) {
      return {subject(path, type) + " is not complete here", nullptr};
    }
    record = record->getDefinition();
    if (record->isLambda()) {
      return in_fields(*record, path);
    }
    return record->isInStdNamespace() ? in_standard_class(*record, path)
                                      : in_user_class(*record, path);
  }

 private:
  std::string subject(const std::string& path, clang::QualType type) const {
    clang::PrintingPolicy policy(context_.getLangOpts());
    const std::string name = "'" + type.getAsString(policy) + "'";
    return path.empty() ? name : "member '" + path + "' of type " + name;
  }

  obstacle in_standard_class(const clang::CXXRecordDecl& record, const std::string& path) {
    const clang::QualType type = context_.getTypeDeclType(&record);
    const llvm::StringRef known = standard_type_obstacle(record.getName());
    if (!known.empty()) {
      return {subject(path, type) + " cannot be copied to another process: " + known.str(),
              nullptr};
    }
    const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
    if (special == nullptr) {
      return {};
    }
    const bool pointer = record.getName() == "unique_ptr" || record.getName() == "shared_ptr";
    for (const clang::TemplateArgument& argument : special->getTemplateArgs().asArray()) {
      obstacle found = in_argument(argument, path, pointer);
      if (!found.reason.empty()) {
        return found;
      }
    }
    return {};
  }

  obstacle in_argument(const clang::TemplateArgument& argument, const std::string& path,
                       bool of_pointer) {
    if (argument.getKind() == clang::TemplateArgument::Pack) {
      for (const clang::TemplateArgument& element : argument.pack_elements()) {
        obstacle found = in_argument(element, path, of_pointer);
        if (!found.reason.empty()) {
          return found;
        }
      }
      return {};
    }
    if (argument.getKind() != clang::TemplateArgument::Type) {
      return {};
    }
    const clang::CXXRecordDecl* pointee = argument.getAsType()->getAsCXXRecordDecl();
    if (of_pointer && pointee != nullptr && pointee->hasDefinition() && pointee->isPolymorphic()) {
      return {subject(path, argument.getAsType()) +
                  " has virtual functions: include <cereal/types/polymorphic.hpp> and register its "
                  "derived classes with CEREAL_REGISTER_TYPE",
              nullptr};
    }
    return in(argument.getAsType(), path);
  }

  obstacle in_user_class(const clang::CXXRecordDecl& record, const std::string& path) {
    const clang::QualType type = context_.getTypeDeclType(&record);
    if (has_serialisation_code(record)) {
      return {};
    }
    if (record.isUnion()) {
      return {subject(path, type) + " is a union; use std::variant", &record};
    }
    if (!record.isAggregate()) {
      return {subject(path, type) + " is not an aggregate: it has private members, constructors or "
                                    "virtual functions",
              &record};
    }
    if (record.getNumBases() != 0) {
      return {subject(path, type) + " has a base class", &record};
    }
    return in_fields(record, path);
  }

  obstacle in_fields(const clang::CXXRecordDecl& record, const std::string& path) {
    for (const clang::FieldDecl* field : record.fields()) {
      std::string name = path;
      if (!record.isLambda()) {
        name += (path.empty() ? "" : ".") + field->getNameAsString();
      }
      if (field->isBitField()) {
        return {"member '" + name + "' is a bit-field", &record};
      }
      obstacle found = in(field->getType(), name);
      if (!found.reason.empty()) {
        return found;
      }
      if (context_.getAsArrayType(field->getType()) != nullptr && !record.isLambda()) {
        return {"member '" + name + "' is a C array; use std::array", &record};
      }
    }
    return {};
  }

  clang::ASTContext& context_;
  llvm::SmallPtrSet<const clang::CXXRecordDecl*, 16> seen_;
};

}  // namespace

bool has_obstacle(clang::ASTContext& context, clang::QualType type) {
  return !search(context).in(type, "").reason.empty();
}

obstacle find_obstacle(clang::ASTContext& context, clang::QualType type) {
  obstacle found = search(context).in(type, "");
  if (found.reason.empty()) {
    clang::PrintingPolicy policy(context.getLangOpts());
    found.reason = "neither cppless nor cereal knows how to serialise '" +
                   type.getAsString(policy) + "'";
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record != nullptr && !record->isInStdNamespace() && !record->isLambda()) {
      found.needs_code = record;
    }
  }
  return found;
}

std::string serialize_function_for(const clang::CXXRecordDecl& record) {
  std::string members;
  for (const clang::FieldDecl* field : record.fields()) {
    members += (members.empty() ? "" : ", ") + field->getNameAsString();
  }
  return "template <class Archive> void serialize(Archive& archive) { archive(" + members + "); }";
}

}  // namespace cppless::plugin
