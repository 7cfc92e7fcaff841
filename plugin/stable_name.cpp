// SPDX-License-Identifier: Apache-2.0
#include "stable_name.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <llvm/ADT/StringExtras.h>

#include "annotation.hpp"
#include "compatibility.hpp"
#include "synthesize.hpp"

namespace cppless::plugin {
namespace {

bool has_internal_linkage(const clang::VarDecl& variable) {
  // Not VarDecl::getFormalLinkage: it would fix the linkage of a variable whose type is not known
  // yet, for we are called from within its initialiser.
  if (variable.getStorageClass() == clang::SC_Static) {
    return true;
  }
  return variable.getType().isConstQualified() && !variable.isInline() &&
         variable.getStorageClass() != clang::SC_Extern &&
         !llvm::isa<clang::VarTemplateSpecializationDecl>(variable);
}

// The call operator as written: of a generic lambda, the template.
const clang::FunctionDecl& written_call_operator(const clang::FunctionDecl& call) {
  const clang::FunctionTemplateDecl* pattern = call.getPrimaryTemplate();
  return pattern != nullptr ? *pattern->getTemplatedDecl() : call;
}

const clang::CXXRecordDecl* closure_of(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  return method != nullptr && method->getParent()->isLambda() ? method->getParent() : nullptr;
}

}  // namespace

void stable_names::closure_completed(clang::CXXRecordDecl& closure) {
  if (!closure.getDeclContext()->getRedeclContext()->isFileContext()) {
    return;
  }
  if (!closure.isDependentContext()) {
    entity name;
    append_closure(name, closure, closure.getLambdaCallOperator());
    add_annotation(closure, (annotation::name_of_closure + llvm::Twine(name.internal ? "i" : "e") +
                             name.text).str());
  }
  lambdas_.count(closure);
}

std::string stable_names::name_of(clang::QualType type) { return type_name(type); }

void stable_names::add_value(clang::ClassTemplateSpecializationDecl& specialisation) {
  const clang::TemplateArgumentList& arguments = specialisation.getTemplateArgs();
  if (arguments.size() != 1 || arguments[0].getKind() != clang::TemplateArgument::Type) {
    return;
  }
  auto* method = make_method(specialisation, "value",
                             context_.getPointerType(context_.CharTy.withConst()),
                             method_kind::static_member);
  set_return_body(*method, make_c_string(context_, name_of(arguments[0].getAsType()),
                                         method->getLocation()));
  specialisation.addDecl(method);
}

std::string stable_names::type_name(clang::QualType type) {
  const clang::QualType canonical = context_.getCanonicalType(type);
  const clang::SplitQualType parts = canonical.split();
  std::string text = unqualified_type_name(*parts.Ty);
  if (parts.Quals.hasConst()) {
    text += " const";
  }
  if (parts.Quals.hasVolatile()) {
    text += " volatile";
  }
  if (parts.Quals.hasRestrict()) {
    text += " __restrict";
  }
  return text;
}

std::string stable_names::unqualified_type_name(const clang::Type& type) {
  if (const auto* pointer = llvm::dyn_cast<clang::PointerType>(&type)) {
    return type_name(pointer->getPointeeType()) + "*";
  }
  if (const auto* reference = llvm::dyn_cast<clang::ReferenceType>(&type)) {
    return type_name(reference->getPointeeType()) + (type.isLValueReferenceType() ? "&" : "&&");
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberPointerType>(&type)) {
    return type_name(member->getPointeeType()) + " " +
           type_name(clang::QualType(member->getClass(), 0)) + "::*";
  }
  if (const auto* array = llvm::dyn_cast<clang::ConstantArrayType>(&type)) {
    return type_name(array->getElementType()) + "[" +
           llvm::toString(array->getSize(), 10, /*Signed=*/false) + "]";
  }
  if (const auto* array = llvm::dyn_cast<clang::IncompleteArrayType>(&type)) {
    return type_name(array->getElementType()) + "[]";
  }
  if (const auto* function = llvm::dyn_cast<clang::FunctionProtoType>(&type)) {
    return function_type_name(*function);
  }
  if (const auto* tag = llvm::dyn_cast<clang::TagType>(&type)) {
    return declaration_name(*tag->getDecl());
  }
  if (const auto* injected = llvm::dyn_cast<clang::InjectedClassNameType>(&type)) {
    return declaration_name(*injected->getDecl());
  }
  if (type.isNullPtrType()) {
    return "std::nullptr_t";
  }
  if (llvm::isa<clang::TemplateTypeParmType>(&type)) {
    return "auto";  // a parameter of a generic lambda; its spelling may change freely
  }
  if (const auto* specialisation = llvm::dyn_cast<clang::TemplateSpecializationType>(&type)) {
    // Only in signatures of generic lambdas: everything else is instantiated.
    if (const auto* pattern = specialisation->getTemplateName().getAsTemplateDecl()) {
      return declaration_name(*pattern) +
             argument_list(specialisation->template_arguments(), pattern->getTemplateParameters());
    }
  }
  if (type.isDependentType()) {
    return "auto";
  }
  clang::PrintingPolicy policy(context_.getLangOpts());
  policy.SuppressInlineNamespace = true;
  policy.PrintCanonicalTypes = true;
  return clang::QualType(&type, 0).getAsString(policy);
}

std::string stable_names::function_type_name(const clang::FunctionProtoType& type) {
  std::string text = type_name(type.getReturnType()) + "(";
  const char* separator = "";
  for (const clang::QualType parameter : type.param_types()) {
    text += separator + type_name(parameter);
    separator = ", ";
  }
  text += type.isVariadic() ? std::string(separator) + "...)" : ")";
  text += type.isConst() ? " const" : "";
  text += type.isVolatile() ? " volatile" : "";
  text += type.getRefQualifier() == clang::RQ_LValue   ? " &"
          : type.getRefQualifier() == clang::RQ_RValue ? " &&"
                                                       : "";
  return text + (type.isNothrow() ? " noexcept" : "");
}

std::string stable_names::declaration_name(const clang::NamedDecl& declaration) {
  entity name;
  if (const auto* closure = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration);
      closure != nullptr && closure->isLambda()) {
    append_closure(name, *closure, closure->getLambdaCallOperator());
  } else if (const auto* tag = llvm::dyn_cast<clang::TagDecl>(&declaration)) {
    append_scope(name, tag->getDeclContext());
    append_tag(name, *tag);
  } else if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration)) {
    append_scope(name, function->getDeclContext());
    append_function(name, *function);
  } else {
    append_scope(name, declaration.getDeclContext());
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration)) {
      append_variable(name, *variable);
    } else {
      name.text += declaration.getNameAsString();
    }
  }
  return finish(name);
}

std::string stable_names::finish(const entity& name) const {
  std::string result;
  const std::string main = paths_.main_file();
  const std::string file =
      name.unnamed != nullptr ? paths_.file_of(name.unnamed->getLocation()) : std::string();
  if (name.internal && file != main) {
    result = main + "@";
  }
  return result + file + (file.empty() ? "" : "@") + name.text;
}

void stable_names::append_scope(entity& name, const clang::DeclContext* scope) {
  if (scope->isTranslationUnit()) {
    return;
  }
  if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope)) {
    append_scope(name, scope->getParent());
    if (space->isAnonymousNamespace()) {
      name.text += "(anonymous)::";
      name.internal = true;
    } else if (!space->isInline()) {
      name.text += space->getNameAsString() + "::";
    }
  } else if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(scope)) {
    if (record->isLambda()) {
      append_closure(name, *record, record->getLambdaCallOperator());
    } else {
      append_scope(name, scope->getParent());
      append_tag(name, *record);
    }
    name.text += "::";
  } else if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(scope)) {
    if (const auto* closure = closure_of(*function)) {
      append_closure(name, *closure, function);
      if (const auto* arguments = function->getTemplateSpecializationArgs()) {
        name.text += argument_list(arguments->asArray(),
                                   function->getPrimaryTemplate()->getTemplateParameters());
      }
    } else {
      append_scope(name, scope->getParent());
      append_function(name, *function);
    }
    name.text += "::";
  } else {
    append_scope(name, scope->getParent());  // extern "C", blocks: no name of their own
  }
}

void stable_names::append_tag(entity& name, const clang::TagDecl& tag) {
  if (tag.getDeclName().isEmpty() && tag.getTypedefNameForAnonDecl() == nullptr) {
    append_unnamed_tag(name, tag);
    return;
  }
  name.text += tag.getDeclName().isEmpty() ? tag.getTypedefNameForAnonDecl()->getNameAsString()
                                           : tag.getNameAsString();
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&tag)) {
    name.text += argument_list(special->getTemplateArgs().asArray(),
                               special->getSpecializedTemplate()->getTemplateParameters());
  }
  if (tag.getDeclContext()->isFunctionOrMethod()) {
    const lambda_position position = position_in_scope(tag);  // a block may hide another's class
    if (position.ordinal > 1) {
      name.text += "#" + std::to_string(position.ordinal);
    }
  }
}

void stable_names::append_unnamed_tag(entity& name, const clang::TagDecl& tag) {
  const auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(&tag);
  if (enumeration != nullptr && !enumeration->enumerators().empty()) {
    name.text += "enum#" + (*enumeration->enumerator_begin())->getNameAsString();
    return;
  }
  if (name.unnamed == nullptr) {
    name.unnamed = &tag;
  }
  if (tag.getDeclContext()->getRedeclContext()->isFileContext()) {
    name.internal = true;
  }
  const lambda_position position = position_in_scope(tag);
  name.text += (tag.getKindName() + "#" + llvm::Twine(position.ordinal)).str();
}

void stable_names::append_closure(entity& name, const clang::CXXRecordDecl& closure,
                                  const clang::FunctionDecl* call) {
  if (const auto* noted = find_annotation(closure, annotation::name_of_closure)) {
    const llvm::StringRef text =
        noted->getAnnotation().drop_front(annotation::name_of_closure.size());
    name.internal = name.internal || text.starts_with("i");
    name.text = text.drop_front().str();
    name.unnamed = &closure;
    return;
  }
  lambda_position position;
  if (closure.getDeclContext()->getRedeclContext()->isFileContext()) {
    position = lambdas_.current(closure);
    append_scope(name, closure.getDeclContext());
    if (position.variable != nullptr) {
      append_variable(name, *position.variable);
      name.text += "::";
    } else {
      name.internal = true;  // an alias or a default argument: a type of its own in each unit
    }
  } else {
    position = position_in_scope(closure);
    append_scope(name, closure.getDeclContext());
  }
  if (name.unnamed == nullptr) {
    name.unnamed = &closure;
  }
  name.text += "lambda#" + std::to_string(position.ordinal);
  if (position.copy > 1) {
    name.text += "." + std::to_string(position.copy);
  }
  if (call != nullptr) {
    name.text += parameter_list(written_call_operator(*call));
  }
}

void stable_names::append_function(entity& name, const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  if (method == nullptr && function.getStorageClass() == clang::SC_Static) {
    name.internal = true;
  }
  if (llvm::isa<clang::CXXConstructorDecl>(function)) {
    name.text += "(constructor)";  // the plain name would repeat the template arguments
  } else if (llvm::isa<clang::CXXDestructorDecl>(function)) {
    name.text += "(destructor)";
  } else if (const auto* conversion = llvm::dyn_cast<clang::CXXConversionDecl>(&function)) {
    name.text += "operator " + type_name(conversion->getConversionType());
  } else {
    name.text += function.getNameAsString();
  }
  if (const auto* arguments = function.getTemplateSpecializationArgs()) {
    const clang::FunctionTemplateDecl* pattern = function.getPrimaryTemplate();
    name.text += argument_list(arguments->asArray(),
                               pattern != nullptr ? pattern->getTemplateParameters() : nullptr);
  }
  name.text += parameter_list(function);
  if (method != nullptr) {
    name.text += method->isConst() ? " const" : "";
    name.text += method->isVolatile() ? " volatile" : "";
    name.text += method->getRefQualifier() == clang::RQ_LValue   ? " &"
                 : method->getRefQualifier() == clang::RQ_RValue ? " &&"
                                                                 : "";
  }
}

void stable_names::append_variable(entity& name, const clang::VarDecl& variable) {
  if (!variable.isStaticDataMember() && has_internal_linkage(variable)) {
    name.internal = true;
  }
  name.text += variable.getNameAsString();
  if (const auto* special = llvm::dyn_cast<clang::VarTemplateSpecializationDecl>(&variable)) {
    name.text += argument_list(special->getTemplateArgs().asArray(),
                               special->getSpecializedTemplate()->getTemplateParameters());
  }
}

std::string stable_names::parameter_list(const clang::FunctionDecl& function) {
  std::string text = "(";
  const char* separator = "";
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    // The type the caller sees: a top-level const is nobody else's business.
    text += separator + type_name(context_.getCanonicalType(parameter->getType())
                                      .getUnqualifiedType());
    separator = ", ";
  }
  return text + (function.isVariadic() ? std::string(separator) + "...)" : ")");
}

std::string stable_names::argument_list(llvm::ArrayRef<clang::TemplateArgument> arguments,
                                        const clang::TemplateParameterList* parameters) {
  if (parameters != nullptr) {
    const llvm::ArrayRef<clang::TemplateArgument> all = arguments;
    while (!arguments.empty() && arguments.size() <= parameters->size() &&
           arguments.back().getKind() != clang::TemplateArgument::Pack &&
           clang::isSubstitutedDefaultArgument(context_, arguments.back(),
                                               parameters->getParam(arguments.size() - 1), all,
                                               parameters->getDepth())) {
      arguments = arguments.drop_back();
    }
  }
  std::string text = "<";
  const char* separator = "";
  for (size_t index = 0; index != arguments.size(); ++index) {
    const clang::NamedDecl* parameter =
        parameters != nullptr && index < parameters->size() ? parameters->getParam(index) : nullptr;
    const std::string name =
        argument_name(arguments[index], parameter, index + 1 != arguments.size());
    text += name.empty() ? "" : separator + name;
    separator = ", ";
  }
  return text + ">";
}

std::string stable_names::argument_name(const clang::TemplateArgument& argument,
                                        const clang::NamedDecl* parameter, bool followed) {
  if (const clang::APValue* value = compatibility::structural_value(argument)) {
    if (value->isFloat()) {  // APValue prints six digits; this one all that tell it from others
      llvm::SmallString<32> digits;
      value->getFloat().toString(digits);
      return std::string(digits.str());
    }
    return value->getAsString(context_, compatibility::structural_type(argument));
  }
  // `template <auto V>` takes 1 and 1L for different arguments: then the type belongs to the name.
  const auto* constant = llvm::dyn_cast_or_null<clang::NonTypeTemplateParmDecl>(parameter);
  const bool deduced =
      constant != nullptr && constant->getType()->getContainedDeducedType() != nullptr;
  switch (argument.getKind()) {
    case clang::TemplateArgument::Type:
      return type_name(argument.getAsType());
    case clang::TemplateArgument::Integral: {
      const clang::QualType type = argument.getIntegralType();
      std::string text = type->isBooleanType()
                             ? (argument.getAsIntegral().getBoolValue() ? "true" : "false")
                             : llvm::toString(argument.getAsIntegral(), 10);
      return deduced ? "(" + type_name(type) + ")" + text : text;
    }
    case clang::TemplateArgument::NullPtr:
      return deduced ? "(" + type_name(argument.getNullPtrType()) + ")nullptr" : "nullptr";
    case clang::TemplateArgument::Declaration: {
      const clang::ValueDecl* declaration = argument.getAsDecl();
      if (const auto* object = llvm::dyn_cast<clang::TemplateParamObjectDecl>(declaration)) {
        return type_name(object->getType().getUnqualifiedType()) +
               object->getValue().getAsString(context_, object->getType());
      }
      return (argument.getParamTypeForDecl()->isReferenceType() ? "" : "&") +
             declaration_name(*declaration);
    }
    case clang::TemplateArgument::Template:
    case clang::TemplateArgument::TemplateExpansion:
      if (const auto* pattern = argument.getAsTemplateOrTemplatePattern().getAsTemplateDecl()) {
        return declaration_name(*pattern);
      }
      return "template";
    case clang::TemplateArgument::Pack: {
      std::string text = followed ? "{" : "";
      const char* separator = "";
      for (const clang::TemplateArgument& element : argument.pack_elements()) {
        text += separator + argument_name(element, parameter, /*followed=*/false);
        separator = ", ";
      }
      return text + (followed ? "}" : "");
    }
    default:
      return "auto";  // an expression that depends on a generic lambda's parameter
  }
}

}  // namespace cppless::plugin
