// SPDX-License-Identifier: Apache-2.0
//
// The text that the argument of the `metadata` attribute stands for.
#pragma once

#include <clang/AST/Expr.h>

#include <optional>
#include <string>

namespace cppless::plugin {

// `value` may be a string literal, a constant array of or pointer to characters, or an object with
// an array of characters somewhere in it (a fixed string): the first such array in order of
// declaration, base classes first. Zero bytes at the end are not part of the text. Nothing if
// `value` is none of these.
std::optional<std::string> metadata_text(clang::ASTContext& context, const clang::Expr& value);

}  // namespace cppless::plugin
