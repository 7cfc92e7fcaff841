// SPDX-License-Identifier: Apache-2.0
//
// Why a type cannot be serialised. Whether it can is the library's finding; this only looks for the
// most likely cause, to tell the user what to change.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Type.h>

#include <string>

namespace cppless::plugin {

struct obstacle {
  // Completes "... cannot be sent to a task: ".
  std::string reason;
  // The class that needs code by its author, if that is the remedy.
  const clang::CXXRecordDecl* needs_code = nullptr;
};

bool has_obstacle(clang::ASTContext& context, clang::QualType type);

// Always gives a reason, if need be that nobody knows how to serialise `type`.
obstacle find_obstacle(clang::ASTContext& context, clang::QualType type);

// `template <class Archive> void serialize(Archive& archive) { archive(a, b); }`
std::string serialize_function_for(const clang::CXXRecordDecl& record);

}  // namespace cppless::plugin
