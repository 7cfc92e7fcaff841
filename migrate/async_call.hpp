// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <clang/AST/Expr.h>

#include <optional>
#include <set>
#include <string>

#include "declared_things.hpp"

namespace cppless::migrate {

// Why a call of std::async must stay, by its policy; nothing if it has none.
std::optional<std::string> policy_obstacle(const clang::CallExpr& call,
                                           const clang::ASTContext& context);

// Everything named in an argument of std::async that the task may call.
void add_called_functions(const clang::Stmt* part, declared_things& things,
                          std::set<std::string>& functions);

}  // namespace cppless::migrate
