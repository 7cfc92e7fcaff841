// SPDX-License-Identifier: Apache-2.0
//
// Adds to the findings where the migrated names are written, however they are made visible.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/TypeLoc.h>

#include <optional>

#include "findings.hpp"

namespace cppless::migrate {

// What a type name belongs to: the declaration whose type it is written in, or the expression. None
// where nothing of a migrated type passes upwards.
using owner = std::optional<groups::member>;

class written_names {
 public:
  written_names(const clang::SourceManager& sources, findings& result)
      : sources_(sources), result_(result) {}

  // `begin`: of the qualifier, invalid without one. `type` and `name` may be any.
  void type_written(clang::SourceLocation begin, clang::TypeLoc type, const owner& owner);
  void template_written(clang::SourceLocation begin, clang::SourceLocation name,
                        clang::TemplateName written, const owner& owner);

  // std::async, found by way of `found`.
  groups::member function_written(clang::SourceLocation begin, clang::SourceLocation name,
                                  const clang::NamedDecl* found, const owner& owner);

  void using_written(const clang::UsingDecl& declaration);

  void in_the_way(clang::SourceLocation where, std::string reason, groups::member group);

 private:
  groups::member name_written(clang::SourceLocation begin, clang::SourceLocation name,
                              llvm::StringRef text, const clang::NamedDecl* through,
                              const owner& owner);
  std::string key(clang::SourceLocation where) const;

  const clang::SourceManager& sources_;
  findings& result_;
};

}  // namespace cppless::migrate
