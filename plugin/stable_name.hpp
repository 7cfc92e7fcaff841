// SPDX-License-Identifier: Apache-2.0
//
// The text name of a type that host and worker agree on, whatever the standard library, the
// architecture or the clang version: `std::vector<int>`, `examples/pi.cpp@main()::lambda#1(int)`.
// It stands in for the papers' __builtin_unique_stable_name (thesis 3.1.3, paper 4.2).
//
//   - Inline namespaces and defaulted template arguments are left out: std::string is
//     std::basic_string<char> with every library.
//   - A closure or unnamed type is `file@scope::lambda#N(parameters)`, N its place among the
//     lambdas of that scope (lambda_position.hpp), `.M` appended for the M-th closure that a pack
//     expansion made of the same source.
//   - A type with internal linkage names the main source file too: `main.cpp@(anonymous)::T`,
//     `main.cpp@header.hpp@f()::lambda#1()`.
//   - Qualifiers and declarators are postfix: `int const*`, `int(double)*`, `int[3]&`.
#pragma once

#include <clang/AST/DeclTemplate.h>

#include <string>

#include "lambda_position.hpp"
#include "source_path.hpp"

namespace cppless::plugin {

class stable_names {
 public:
  stable_names(clang::ASTContext& context, source_paths paths)
      : context_(context), paths_(std::move(paths)) {}

  void set_sema(clang::Sema* sema) { lambdas_.set_sema(sema); }

  // To be called once for each closure when it is complete: notes the place of those at namespace
  // scope, which cannot be found out later.
  void closure_completed(clang::CXXRecordDecl& closure);

  // `type` must not be dependent.
  std::string name_of(clang::QualType type);

  // Adds `static constexpr const char* value() noexcept` to a specialisation of stable_name_of<T>.
  void add_value(clang::ClassTemplateSpecializationDecl& specialisation);

 private:
  struct entity {
    std::string text;
    bool internal = false;                  // cannot be named from another translation unit
    const clang::Decl* unnamed = nullptr;   // the outermost unnamed declaration in it
  };

  std::string type_name(clang::QualType type);
  std::string unqualified_type_name(const clang::Type& type);
  std::string function_type_name(const clang::FunctionProtoType& type);
  std::string declaration_name(const clang::NamedDecl& declaration);
  std::string finish(const entity& name) const;

  void append_scope(entity& name, const clang::DeclContext* scope);
  void append_tag(entity& name, const clang::TagDecl& tag);
  void append_unnamed_tag(entity& name, const clang::TagDecl& tag);
  void append_closure(entity& name, const clang::CXXRecordDecl& closure,
                      const clang::FunctionDecl* call);
  void append_function(entity& name, const clang::FunctionDecl& function);
  void append_variable(entity& name, const clang::VarDecl& variable);

  std::string parameter_list(const clang::FunctionDecl& function);
  std::string argument_list(llvm::ArrayRef<clang::TemplateArgument> arguments,
                            const clang::TemplateParameterList* parameters);
  std::string argument_name(const clang::TemplateArgument& argument,
                            const clang::NamedDecl* parameter, bool followed);

  clang::ASTContext& context_;
  source_paths paths_;
  namespace_lambdas lambdas_;
};

}  // namespace cppless::plugin
