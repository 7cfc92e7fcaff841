// SPDX-License-Identifier: Apache-2.0
#include "annotation.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>

namespace cppless::plugin {

const clang::AnnotateAttr* find_annotation(const clang::Decl& declaration, llvm::StringRef text) {
  if (!declaration.hasAttrs()) {
    return nullptr;
  }
  for (const auto* attribute : declaration.specific_attrs<clang::AnnotateAttr>()) {
    if (attribute->getAnnotation().starts_with(text)) {
      return attribute;
    }
  }
  return nullptr;
}

llvm::StringRef cppless_annotation(const clang::Decl& declaration) {
  const auto* attribute = find_annotation(declaration, "cppless::");
  return attribute != nullptr ? attribute->getAnnotation() : llvm::StringRef();
}

void add_annotation(clang::Decl& declaration, llvm::StringRef text) {
  clang::ASTContext& context = declaration.getASTContext();
  declaration.addAttr(clang::AnnotateAttr::CreateImplicit(context, text, nullptr, 0,
                                                          declaration.getLocation()));
}

}  // namespace cppless::plugin
