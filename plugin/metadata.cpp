// SPDX-License-Identifier: Apache-2.0
#include "metadata.hpp"

#include <clang/AST/APValue.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

namespace cppless::plugin {
namespace {

using text = std::optional<std::string>;

text without_trailing_zeros(std::string characters) {
  characters.erase(characters.find_last_not_of('\0') + 1);
  return characters;
}

text read_array(const clang::APValue& array, uint64_t from) {
  std::string characters;
  const unsigned initialised = array.getArrayInitializedElts();
  for (unsigned index = from; index < array.getArraySize(); ++index) {
    const clang::APValue& element = index < initialised ? array.getArrayInitializedElt(index)
                                                        : array.getArrayFiller();
    if (!element.isInt()) {
      return std::nullopt;
    }
    characters += static_cast<char>(element.getInt().getExtValue());
  }
  return without_trailing_zeros(std::move(characters));
}

bool is_character_array(clang::ASTContext& context, clang::QualType type) {
  const clang::ArrayType* array = context.getAsArrayType(type);
  if (array == nullptr) {
    return false;
  }
  const clang::QualType element = array->getElementType();
  const bool byte = element->isEnumeralType() || element->isIntegerType();
  return byte && context.getTypeSizeInChars(element).isOne();
}

text find_in_object(clang::ASTContext& context, const clang::APValue& value, clang::QualType type) {
  if (value.isArray()) {
    return is_character_array(context, type) ? read_array(value, 0) : std::nullopt;
  }
  const auto* record = type->getAsCXXRecordDecl();
  if (!value.isStruct() || record == nullptr) {
    return std::nullopt;
  }
  unsigned index = 0;
  for (const clang::CXXBaseSpecifier& base : record->bases()) {
    if (text found = find_in_object(context, value.getStructBase(index++), base.getType())) {
      return found;
    }
  }
  for (const clang::FieldDecl* field : record->fields()) {
    const clang::APValue& member = value.getStructField(field->getFieldIndex());
    if (text found = find_in_object(context, member, field->getType())) {
      return found;
    }
  }
  return std::nullopt;
}

const clang::APValue* constant_value(const clang::ValueDecl* declaration) {
  if (const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(declaration)) {
    return variable->evaluateValue();
  }
  const auto* object = llvm::dyn_cast_or_null<clang::TemplateParamObjectDecl>(declaration);
  return object != nullptr ? &object->getValue() : nullptr;
}

// The characters behind a pointer to an array or to an element of one.
text read_pointed_array(const clang::APValue& pointer) {
  const clang::APValue::LValueBase base = pointer.getLValueBase();
  if (const auto* expression = base.dyn_cast<const clang::Expr*>()) {
    const auto* literal = llvm::dyn_cast<clang::StringLiteral>(expression);
    if (literal == nullptr || literal->getCharByteWidth() != 1) {
      return std::nullopt;
    }
    const size_t offset = pointer.getLValueOffset().getQuantity();
    return without_trailing_zeros(literal->getBytes().drop_front(offset).str());
  }
  const clang::APValue* value = constant_value(base.dyn_cast<const clang::ValueDecl*>());
  if (value == nullptr || !pointer.hasLValuePath()) {
    return std::nullopt;
  }
  for (const clang::APValue::LValuePathEntry& step : pointer.getLValuePath()) {
    if (value->isArray()) {
      const uint64_t index = step.getAsArrayIndex();
      const bool initialised = index < value->getArrayInitializedElts();
      const clang::APValue* element = nullptr;
      if (initialised || value->hasArrayFiller()) {
        element = initialised ? &value->getArrayInitializedElt(index) : &value->getArrayFiller();
      }
      if (element == nullptr || element->isInt()) {
        return read_array(*value, index);
      }
      value = element;
      continue;
    }
    const auto* field =
        value->isStruct()
            ? llvm::dyn_cast<clang::FieldDecl>(step.getAsBaseOrMember().getPointer())
            : nullptr;
    if (field == nullptr) {
      return std::nullopt;  // through a base class: rare enough to ask for the object itself
    }
    value = &value->getStructField(field->getFieldIndex());
  }
  return value->isArray() ? read_array(*value, 0) : std::nullopt;
}

}  // namespace

std::optional<std::string> metadata_text(clang::ASTContext& context, const clang::Expr& value) {
  clang::APValue result;
  const auto* constant = llvm::dyn_cast<clang::ConstantExpr>(&value);
  if (constant != nullptr && constant->hasAPValueResult()) {
    result = constant->getAPValueResult();
  } else {
    clang::Expr::EvalResult evaluated;
    if (!value.EvaluateAsRValue(evaluated, context, /*InConstantContext=*/true)) {
      return std::nullopt;
    }
    result = evaluated.Val;
  }
  if (result.isLValue()) {
    // clang folds an array argument to a pointer to the whole array.
    const clang::QualType pointee = value.getType()->getPointeeType();
    const bool characters = !pointee.isNull() && (pointee->isAnyCharacterType() ||
                                                  is_character_array(context, pointee));
    return characters ? read_pointed_array(result) : std::nullopt;
  }
  return find_in_object(context, result, value.getType());
}

}  // namespace cppless::plugin
