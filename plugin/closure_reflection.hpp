// SPDX-License-Identifier: Apache-2.0
//
// Lets C++ code see what a lambda captured. Every complete, non-dependent closure type gets
//
//   static constexpr int capture_count() noexcept;
//   template <int I> constexpr auto& capture() noexcept;         // T&, readable and writable
//   template <int I> constexpr auto& capture() const noexcept;   // const T&
//
// I counts the captures in the order clang stores them: as written, then the implicit ones in the
// order of their first use. A capture by reference yields the object it refers to; `[this]` the
// pointer; `[*this]` the copy. Thesis 3.1.2 and 4.1.2; paper Figure 5.
#pragma once

#include <clang/AST/DeclCXX.h>

namespace cppless::plugin {

void add_closure_reflection(clang::CXXRecordDecl& closure);

}  // namespace cppless::plugin
