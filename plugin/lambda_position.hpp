// SPDX-License-Identifier: Apache-2.0
//
// Which lambda is this? C++ gives closures no name, and clang's own numbers follow the order in
// which code is generated. Here a closure is told by its place in the source: the how-manieth
// lambda of its function, class or variable it is. Lines and columns do not enter, so an edit
// elsewhere in the file changes nothing; and a lambda in a template has the same number in every
// instantiation, also where `if constexpr` removed lambdas before it.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <llvm/ADT/DenseMap.h>

namespace clang {
class Sema;
class VarDecl;
}  // namespace clang

namespace cppless::plugin {

struct lambda_position {
  const clang::VarDecl* variable = nullptr;  // the namespace-scope variable it initialises, if any
  unsigned ordinal = 1;                      // from 1, in source order
  unsigned copy = 1;  // > 1: a further closure made of the same source by a pack expansion
};

// The place of a lambda, an unnamed class or a local class among its like in a function or class;
// of an unnamed class at namespace scope, among those of its file. (For lambdas at namespace scope
// see namespace_lambdas.)
lambda_position position_in_scope(const clang::TagDecl& declaration);

// The function, class or closure in the source that `scope` was instantiated from; `scope` itself
// if it is not an instantiation.
const clang::DeclContext* pattern_of(const clang::DeclContext* scope);

// Positions of lambdas at namespace scope, which have no list of their own to be counted in.
class namespace_lambdas {
 public:
  void set_sema(clang::Sema* sema) { sema_ = sema; }

  // The position of a closure whose parsing or instantiation is under way or just ends.
  lambda_position current(const clang::CXXRecordDecl& closure);
  // To be called once for each closure, when it is complete.
  void count(const clang::CXXRecordDecl& closure);

 private:
  const clang::VarDecl* initialised_variable() const;
  unsigned& counter(const clang::CXXRecordDecl& closure, const clang::VarDecl* variable);

  clang::Sema* sema_ = nullptr;
  llvm::DenseMap<const clang::VarDecl*, unsigned> by_variable_;
  llvm::DenseMap<unsigned, unsigned> by_file_;  // lambdas outside any initialiser
};

}  // namespace cppless::plugin
