// SPDX-License-Identifier: Apache-2.0
//
// One group member for each declared thing, whichever of its redeclarations, instantiations or
// parameters is asked for, and in whichever source.
#pragma once

#include <clang/AST/ASTContext.h>

#include "carriers.hpp"
#include "findings.hpp"

namespace cppless::migrate {

class declared_things {
 public:
  declared_things(clang::ASTContext& context, findings& result, const changeable_files& files)
      : sources_(context.getSourceManager()), result_(result), files_(files) {}

  // Of a function: its whole signature; a parameter is part of it.
  groups::member member_of(const clang::NamedDecl& declaration);

  // Also joins it with the user's classes in `type` that derive from a migrated one.
  groups::member member_of(const clang::NamedDecl& declaration, clang::QualType type);

  void join_with_classes(groups::member member, clang::QualType type);

  // The name of a function in the graph of calls.
  std::string key_of(const clang::FunctionDecl& function);

  bool is_changeable(const clang::Decl& declaration) const {
    return files_.contains(sources_, declaration.getLocation());
  }

  carriers& types() { return types_; }

 private:
  void link(groups::member member, const clang::NamedDecl& declaration);
  void note_definition(groups::member member, const clang::NamedDecl& declaration);
  std::string place_key(const clang::Decl& declaration) const;

  const clang::SourceManager& sources_;
  findings& result_;
  const changeable_files& files_;
  carriers types_;
  llvm::DenseMap<const clang::Decl*, groups::member> known_;
};

}  // namespace cppless::migrate
