// SPDX-License-Identifier: Apache-2.0
//
// The names of namespace std that migrate, and those that decide whether a use of them may.
#pragma once

#include <clang/AST/DeclTemplate.h>

#include <optional>

namespace cppless::migrate {

// std::future, std::shared_future, std::promise or std::packaged_task.
bool is_migrated_class(const clang::TemplateDecl* declaration);

bool is_async(const clang::NamedDecl* declaration);

// In namespace std or anything in it; unlike clang's isInStdNamespace() members of its classes too.
bool belongs_to_std(const clang::Decl& declaration);

// std::launch, what a policy is made of.
bool is_launch(clang::QualType type);

// A lock_guard, unique_lock, scoped_lock or shared_lock of namespace std.
bool is_lock(clang::QualType type);

// Whether `function` waits for the state of one of the migrated classes: get, wait, wait_for ...
bool waits_for_future(const clang::FunctionDecl& function);

// Members that act when the thread ends: fibers do not end with their thread.
// What of std::this_thread would hold a worker, or spin on it, and has a counterpart for fibers.
bool pauses_thread(const clang::NamedDecl& function);

bool acts_at_thread_exit(const clang::FunctionDecl& function);

// Why a task that calls `function` must keep a thread of its own, if so.
std::optional<std::string> needs_own_thread(const clang::FunctionDecl& function);

}  // namespace cppless::migrate
