// SPDX-License-Identifier: Apache-2.0
//
// The library tells the plugin what to look at with [[clang::annotate("cppless::...")]]; the plugin
// keeps its own notes on declarations the same way, so that they survive precompiled headers.
#pragma once

#include <clang/AST/DeclBase.h>
#include <llvm/ADT/StringRef.h>

namespace clang {
class AnnotateAttr;
}

namespace cppless::plugin {

namespace annotation {
inline constexpr llvm::StringLiteral stable_name = "cppless::stable_name";
inline constexpr llvm::StringLiteral dispatched = "cppless::dispatched";
inline constexpr llvm::StringLiteral capture_check = "cppless::capture_check";
inline constexpr llvm::StringLiteral signature_check = "cppless::signature_check";
inline constexpr llvm::StringLiteral task_entry = "cppless::task_entry";
inline constexpr llvm::StringLiteral entry = "cppless::entry";
inline constexpr llvm::StringLiteral metadata = "cppless::metadata";
inline constexpr llvm::StringLiteral name_of_closure = "cppless::name_of_closure=";
}  // namespace annotation

// The annotation that starts with `text`, or null.
const clang::AnnotateAttr* find_annotation(const clang::Decl& declaration, llvm::StringRef text);

// The annotation that starts with "cppless::", or an empty string.
llvm::StringRef cppless_annotation(const clang::Decl& declaration);

void add_annotation(clang::Decl& declaration, llvm::StringRef text);

}  // namespace cppless::plugin
