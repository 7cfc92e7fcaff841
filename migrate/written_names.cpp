// SPDX-License-Identifier: Apache-2.0
#include "written_names.hpp"

#include <algorithm>

#include "standard_names.hpp"

namespace cppless::migrate {

using clang::SourceLocation;

void written_names::type_written(SourceLocation begin, clang::TypeLoc type, const owner& owner) {
  if (const auto special = type.getAs<clang::TemplateSpecializationTypeLoc>()) {
    template_written(begin, special.getTemplateNameLoc(), special.getTypePtr()->getTemplateName(),
                     owner);
  } else if (const auto deduced = type.getAs<clang::DeducedTemplateSpecializationTypeLoc>()) {
    template_written(begin, deduced.getTemplateNameLoc(), deduced.getTypePtr()->getTemplateName(),
                     owner);
  }
}

void written_names::template_written(SourceLocation begin, SourceLocation name,
                                     clang::TemplateName written, const owner& owner) {
  const clang::TemplateDecl* declaration = written.getAsTemplateDecl();
  // What an instantiation has in place of a template parameter is not written there.
  if (is_migrated_class(declaration) &&
      llvm::StringRef(sources_.getCharacterData(name)).starts_with(declaration->getName())) {
    name_written(begin, name, declaration->getName(), written.getAsUsingShadowDecl(), owner);
  }
}

groups::member written_names::function_written(SourceLocation begin, SourceLocation name,
                                               const clang::NamedDecl* found, const owner& owner) {
  return name_written(begin, name, "async", found, owner);
}

groups::member written_names::name_written(SourceLocation begin, SourceLocation name,
                                           llvm::StringRef text, const clang::NamedDecl* through,
                                           const owner& owner) {
  if (begin.isInvalid()) {
    begin = name;
  }
  const std::string id = key(name);
  const auto [found, is_new] = result_.names.try_emplace(id);
  written_name& known = found->second;
  if (is_new) {
    known.where = place_of(sources_, begin);
    known.name = text;
    known.group = result_.together.make();
    known.length = place_of(sources_, name).offset - known.where.offset + text.size();
    if (begin.isMacroID() || name.isMacroID()) {
      in_the_way(name, "std::" + text.str() + " is written in a macro", known.group);
    } else if (const auto* shadow = llvm::dyn_cast_or_null<clang::UsingShadowDecl>(through)) {
      if (const auto* using_ = llvm::dyn_cast<clang::UsingDecl>(shadow->getIntroducer())) {
        known.through = key(using_->getNameInfo().getLoc());
        result_.using_declarations[known.through].uses.insert(id);
      }
    }
  }
  if (owner) {
    result_.together.join(known.group, *owner);
  }
  return known.group;
}

void written_names::using_written(const clang::UsingDecl& declaration) {
  const bool ours =
      declaration.shadow_size() > 0 &&
      std::all_of(declaration.shadow_begin(), declaration.shadow_end(),
                  [](const clang::UsingShadowDecl* shadow) {
                    const clang::NamedDecl* target = shadow->getTargetDecl();
                    return is_async(target) ||
                           is_migrated_class(llvm::dyn_cast<clang::TemplateDecl>(target));
                  });
  const SourceLocation begin = declaration.getQualifierLoc().getBeginLoc();
  const SourceLocation name = declaration.getNameInfo().getLoc();
  if (!ours || begin.isMacroID() || name.isMacroID()) {
    return;
  }
  using_declaration& known = result_.using_declarations[key(name)];
  known.where = place_of(sources_, begin);
  known.name = declaration.getName();
  known.length = place_of(sources_, name).offset - known.where.offset + known.name.size();
}

void written_names::in_the_way(SourceLocation where, std::string reason, groups::member group) {
  result_.obstacles.push_back({place_of(sources_, where), std::move(reason), group});
}

// Of the text itself, too: several names may come from one use of a macro.
std::string written_names::key(SourceLocation where) const {
  const place used = place_of(sources_, where);
  const auto [file, offset] = sources_.getDecomposedLoc(sources_.getSpellingLoc(where));
  (void)file;
  return used.file + ":" + std::to_string(used.offset) + ":" + std::to_string(offset);
}

}  // namespace cppless::migrate
