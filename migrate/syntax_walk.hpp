// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <clang/AST/ASTContext.h>

#include "findings.hpp"

namespace cppless::migrate {

// Adds what the user's files of this translation unit hold to `result`.
void walk_syntax(clang::ASTContext& context, findings& result, const changeable_files& files);

}  // namespace cppless::migrate
