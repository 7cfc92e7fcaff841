// SPDX-License-Identifier: Apache-2.0
#include "syntax_walk.hpp"

#include <clang/AST/RecursiveASTVisitor.h>

#include "async_call.hpp"
#include "declared_things.hpp"
#include "standard_names.hpp"
#include "written_names.hpp"

namespace cppless::migrate {
namespace {

using clang::Decl;
using clang::Expr;
using clang::FunctionDecl;
using clang::NamedDecl;
using clang::QualType;
using clang::SourceLocation;
using clang::Stmt;

class walk final : public clang::RecursiveASTVisitor<walk> {
  using base = clang::RecursiveASTVisitor<walk>;

 public:
  walk(clang::ASTContext& context, findings& result, const changeable_files& files)
      : context_(context),
        sources_(context.getSourceManager()),
        result_(result),
        things_(context, result, files),
        names_(context.getSourceManager(), result) {}

  // Templates say what they are only where they are instantiated.
  bool shouldVisitTemplateInstantiations() const { return true; }

  bool TraverseDecl(Decl* declaration);
  bool TraverseStmt(Stmt* statement);
  bool TraverseCompoundStmt(clang::CompoundStmt* block);
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda);
  bool TraverseConstructorInitializer(clang::CXXCtorInitializer* initializer);
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc name);
  bool TraverseTemplateArgumentLoc(const clang::TemplateArgumentLoc& argument);

  bool VisitElaboratedTypeLoc(clang::ElaboratedTypeLoc type);
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type);
  bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc type);
  bool VisitDeducedTemplateSpecializationTypeLoc(clang::DeducedTemplateSpecializationTypeLoc type);

  bool VisitUsingDecl(clang::UsingDecl* declaration);
  bool VisitVarDecl(clang::VarDecl* variable);
  bool VisitDecompositionDecl(clang::DecompositionDecl* declaration);
  bool VisitDeclRefExpr(clang::DeclRefExpr* reference);
  bool VisitUnresolvedLookupExpr(clang::UnresolvedLookupExpr* reference);
  bool VisitMemberExpr(clang::MemberExpr* reference);
  bool VisitCallExpr(clang::CallExpr* call);
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction);
  bool VisitInitListExpr(clang::InitListExpr* list);
  bool VisitReturnStmt(clang::ReturnStmt* statement);
  bool VisitCoreturnStmt(clang::CoreturnStmt* statement);
  bool VisitCXXForRangeStmt(clang::CXXForRangeStmt* loop);

 private:
  groups::member member_of(const Expr& expression);
  void join(const Expr* expression, groups::member member);
  void join_returned(const Expr* value);
  void join_arguments(llvm::ArrayRef<Expr*> arguments, const FunctionDecl* callee,
                      const Expr& call);

  void async_written(const Expr& callee, SourceLocation begin, SourceLocation name,
                     const NamedDecl* found);

  void async_called(const clang::CallExpr& call);
  void function_used(const FunctionDecl& function, SourceLocation where);
  void pause_written(const clang::DeclRefExpr& reference);
  void thread_needed(SourceLocation where, std::string reason);
  const owner& owner_here() const;

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  findings& result_;
  declared_things things_;
  written_names names_;
  llvm::DenseMap<const Expr*, groups::member> expressions_;
  std::vector<owner> owners_;
  std::vector<const FunctionDecl*> functions_;  // whose bodies surround us, the innermost last
  std::vector<unsigned> locks_;                 // how many locks are held, per function
  llvm::DenseSet<const Expr*> called_;          // references to std::async that are calls
};

bool walk::TraverseDecl(Decl* declaration) {
  if (declaration == nullptr || declaration->isImplicit()) {
    return declaration == nullptr || base::TraverseDecl(declaration);
  }
  const clang::DeclContext* context = declaration->getLexicalDeclContext();
  if (context != nullptr && context->isFileContext() && !things_.is_changeable(*declaration)) {
    return true;
  }
  owner mine;
  if (const auto* value = llvm::dyn_cast<clang::DeclaratorDecl>(declaration)) {
    if (things_.types().carries(value->getType())) {
      mine = things_.member_of(*value, value->getType());
    }
  } else if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(declaration)) {
    mine = things_.member_of(*alias, alias->getUnderlyingType());
  } else if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(declaration)) {
    mine = things_.member_of(*record);
  }
  const auto* function = llvm::dyn_cast<FunctionDecl>(declaration);
  owners_.push_back(mine);
  if (function != nullptr) {
    functions_.push_back(function);
    locks_.push_back(0);
  }
  const bool result = base::TraverseDecl(declaration);
  if (function != nullptr) {
    functions_.pop_back();
    locks_.pop_back();
  }
  owners_.pop_back();
  return result;
}

bool walk::TraverseStmt(Stmt* statement) {
  owner mine;
  const auto* expression = llvm::dyn_cast_or_null<Expr>(statement);
  if (expression != nullptr && things_.types().carries(*expression)) {
    mine = member_of(*expression);
    if (owner_here()) {
      result_.together.join(*mine, *owner_here());
    }
  }
  owners_.push_back(mine);
  const bool result = base::TraverseStmt(statement);
  owners_.pop_back();
  return result;
}

bool walk::TraverseCompoundStmt(clang::CompoundStmt* block) {
  const unsigned held = locks_.empty() ? 0 : locks_.back();
  const bool result = base::TraverseCompoundStmt(block);
  if (!locks_.empty()) {
    locks_.back() = held;
  }
  return result;
}

bool walk::TraverseLambdaExpr(clang::LambdaExpr* lambda) {
  functions_.push_back(lambda->getCallOperator());
  locks_.push_back(0);
  if (things_.types().carries(lambda->getCallOperator()->getType())) {
    join(lambda, things_.member_of(*lambda->getCallOperator()));
  }
  const bool result = base::TraverseLambdaExpr(lambda);
  functions_.pop_back();
  locks_.pop_back();
  return result;
}

bool walk::TraverseConstructorInitializer(clang::CXXCtorInitializer* initializer) {
  if (const clang::FieldDecl* field = initializer->getAnyMember()) {
    if (things_.types().carries(field->getType())) {
      join(initializer->getInit(), things_.member_of(*field, field->getType()));
    }
  }
  return base::TraverseConstructorInitializer(initializer);
}

bool walk::TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc name) {
  if (name && name.getNestedNameSpecifier()->getAsType() != nullptr) {
    const clang::NestedNameSpecifierLoc prefix = name.getPrefix();
    names_.type_written(prefix ? prefix.getBeginLoc() : SourceLocation(), name.getTypeLoc(),
                        owner_here());
  }
  return base::TraverseNestedNameSpecifierLoc(name);
}

bool walk::TraverseTemplateArgumentLoc(const clang::TemplateArgumentLoc& argument) {
  if (argument.getArgument().getKind() == clang::TemplateArgument::Template) {
    const clang::NestedNameSpecifierLoc qualifier = argument.getTemplateQualifierLoc();
    names_.template_written(qualifier ? qualifier.getBeginLoc() : SourceLocation(),
                            argument.getTemplateNameLoc(), argument.getArgument().getAsTemplate(),
                            owner_here());
  }
  return base::TraverseTemplateArgumentLoc(argument);
}

bool walk::VisitElaboratedTypeLoc(clang::ElaboratedTypeLoc type) {
  const clang::NestedNameSpecifierLoc qualifier = type.getQualifierLoc();
  names_.type_written(qualifier ? qualifier.getBeginLoc() : SourceLocation(),
                      type.getNamedTypeLoc(), owner_here());
  return true;
}

// Whoever uses an alias belongs with it.
bool walk::VisitTypedefTypeLoc(clang::TypedefTypeLoc type) {
  const clang::TypedefNameDecl* alias = type.getTypedefNameDecl();
  if (owner_here() && things_.types().carries(alias->getUnderlyingType())) {
    result_.together.join(*owner_here(), things_.member_of(*alias, alias->getUnderlyingType()));
  }
  return true;
}

bool walk::VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc type) {
  const clang::TemplateDecl* written = type.getTypePtr()->getTemplateName().getAsTemplateDecl();
  if (const auto* alias = llvm::dyn_cast_or_null<clang::TypeAliasTemplateDecl>(written)) {
    const clang::TypeAliasDecl& target = *alias->getTemplatedDecl();
    if (owner_here() && things_.types().carries(target.getUnderlyingType())) {
      result_.together.join(*owner_here(), things_.member_of(target));
    }
  }
  names_.type_written({}, type, owner_here());
  return true;
}

bool walk::VisitDeducedTemplateSpecializationTypeLoc(
    clang::DeducedTemplateSpecializationTypeLoc type) {
  names_.type_written({}, type, owner_here());
  return true;
}

bool walk::VisitUsingDecl(clang::UsingDecl* declaration) {
  names_.using_written(*declaration);
  return true;
}

bool walk::VisitVarDecl(clang::VarDecl* variable) {
  if (!locks_.empty() && is_lock(variable->getType())) {
    ++locks_.back();
  }
  return true;
}

bool walk::VisitDecompositionDecl(clang::DecompositionDecl* declaration) {
  for (const clang::BindingDecl* each : declaration->bindings()) {
    if (things_.types().carries(each->getType())) {
      result_.together.join(things_.member_of(*each), things_.member_of(*declaration));
    }
  }
  return true;
}

bool walk::VisitDeclRefExpr(clang::DeclRefExpr* reference) {
  const clang::ValueDecl& declaration = *reference->getDecl();
  if (is_async(&declaration)) {
    async_written(*reference, reference->getBeginLoc(), reference->getNameInfo().getLoc(),
                  reference->getFoundDecl());
    return true;
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
  if (variable != nullptr && variable->getTLSKind() != clang::VarDecl::TLS_None) {
    thread_needed(reference->getLocation(),
                  "uses '" + variable->getNameAsString() + "', which is thread_local");
  }
  if (const auto* function = llvm::dyn_cast<FunctionDecl>(&declaration)) {
    if (pauses_thread(*function)) {
      pause_written(*reference);
      return true;
    }
    function_used(*function, reference->getLocation());
  }
  if (things_.types().carries(declaration.getType()) && !belongs_to_std(declaration)) {
    join(reference, things_.member_of(declaration, declaration.getType()));
  }
  return true;
}

bool walk::VisitUnresolvedLookupExpr(clang::UnresolvedLookupExpr* reference) {
  if (reference->getNumDecls() > 0 && is_async(*reference->decls_begin())) {
    async_written(*reference, reference->getBeginLoc(), reference->getNameLoc(),
                  *reference->decls_begin());
  }
  return true;
}

bool walk::VisitMemberExpr(clang::MemberExpr* reference) {
  const clang::ValueDecl& member = *reference->getMemberDecl();
  if (const auto* function = llvm::dyn_cast<FunctionDecl>(&member)) {
    function_used(*function, reference->getMemberLoc());
    return true;
  }
  if (!things_.types().carries(member.getType())) {
    return true;
  }
  if (!belongs_to_std(member)) {
    join(reference, things_.member_of(member, member.getType()));
  }
  // What a template holds has the type that its user wrote.
  if (things_.types().carries(*reference->getBase())) {
    join(reference, member_of(*reference->getBase()));
  }
  return true;
}

bool walk::VisitCallExpr(clang::CallExpr* call) {
  if (async_callee(*call) != nullptr) {
    async_called(*call);
    return true;
  }
  const FunctionDecl* callee = call->getDirectCallee();
  std::vector<Expr*> arguments(call->arg_begin(), call->arg_end());
  if (const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(call)) {
    const auto* class_ = member->getRecordDecl();
    const bool of_template = class_ != nullptr &&
                             llvm::isa<clang::ClassTemplateSpecializationDecl>(class_);
    if (of_template || (callee != nullptr && belongs_to_std(*callee))) {
      arguments.push_back(member->getImplicitObjectArgument());
    }
    if (callee != nullptr && acts_at_thread_exit(*callee)) {
      names_.in_the_way(call->getExprLoc(),
                        callee->getNameAsString() +
                            " has no counterpart: fibers do not end with their thread",
                        member_of(*member->getImplicitObjectArgument()));
    }
  }
  if (callee != nullptr && waits_for_future(*callee) && !locks_.empty() && locks_.back() > 0) {
    thread_needed(call->getExprLoc(), "waits for a future while it holds a lock");
  }
  join_arguments(arguments, callee, *call);
  return true;
}

bool walk::VisitCXXConstructExpr(clang::CXXConstructExpr* construction) {
  const clang::CXXConstructorDecl* constructor = construction->getConstructor();
  function_used(*constructor, construction->getExprLoc());
  join_arguments({construction->getArgs(), construction->getNumArgs()}, constructor, *construction);
  return true;
}

bool walk::VisitInitListExpr(clang::InitListExpr* list) {
  if (!list->isSemanticForm() || list->getType().isNull()) {
    return true;
  }
  const clang::CXXRecordDecl* record = list->getType()->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) {
    return true;
  }
  unsigned at = record->getNumBases();
  for (const clang::FieldDecl* field : record->fields()) {
    if (at < list->getNumInits() && things_.types().carries(field->getType())) {
      join(list->getInit(at), things_.member_of(*field, field->getType()));
    }
    ++at;
  }
  return true;
}

bool walk::VisitReturnStmt(clang::ReturnStmt* statement) {
  join_returned(statement->getRetValue());
  return true;
}

bool walk::VisitCoreturnStmt(clang::CoreturnStmt* statement) {
  join_returned(statement->getOperand());
  return true;
}

bool walk::VisitCXXForRangeStmt(clang::CXXForRangeStmt* loop) {
  const clang::VarDecl* variable = loop->getLoopVariable();
  if (variable != nullptr && things_.types().carries(variable->getType())) {
    join(loop->getRangeInit(), things_.member_of(*variable, variable->getType()));
  }
  return true;
}

const owner& walk::owner_here() const {
  static const owner nobody;
  return owners_.empty() ? nobody : owners_.back();
}

groups::member walk::member_of(const Expr& expression) {
  const auto found = expressions_.find(&expression);
  if (found != expressions_.end()) {
    return found->second;
  }
  const groups::member result = result_.together.make();
  expressions_.try_emplace(&expression, result);
  things_.join_with_classes(result, expression.getType());
  return result;
}

void walk::join(const Expr* expression, groups::member member) {
  if (expression != nullptr && things_.types().carries(*expression)) {
    result_.together.join(member_of(*expression), member);
  }
}

void walk::join_returned(const Expr* value) {
  if (value != nullptr && !functions_.empty()) {
    join(value, things_.member_of(*functions_.back()));
  }
}

// What a function takes and gives has the types of its declaration. Those of the standard library
// are templates: what goes into one belongs together.
void walk::join_arguments(llvm::ArrayRef<Expr*> arguments, const FunctionDecl* callee,
                          const Expr& call) {
  owner all;
  if (callee != nullptr && !belongs_to_std(*callee)) {
    all = things_.member_of(*callee);
  }
  if (things_.types().carries(call)) {
    const groups::member result = member_of(call);
    if (all) {
      result_.together.join(result, *all);
    }
    all = result;
  }
  for (const Expr* argument : arguments) {
    if (argument != nullptr && things_.types().carries(*argument)) {
      if (all) {
        join(argument, *all);
      }
      all = member_of(*argument);
    }
  }
}

void walk::async_written(const Expr& callee, SourceLocation begin, SourceLocation name,
                         const NamedDecl* found) {
  const groups::member group = names_.function_written(begin, name, found, owner_here());
  if (!called_.contains(&callee)) {
    names_.in_the_way(begin, "std::async is not called here, only named", group);
  }
}

void walk::async_called(const clang::CallExpr& call) {
  called_.insert(async_callee(call));
  const groups::member group = member_of(call);
  const llvm::ArrayRef<const Expr*> arguments(call.getArgs(), call.getNumArgs());
  task found{place_of(sources_, call.getExprLoc()), group, {}};
  for (const Expr* argument : arguments) {
    join(argument, group);
    add_called_functions(argument, things_, found.functions);
  }
  if (std::optional<std::string> reason = policy_obstacle(call, context_)) {
    names_.in_the_way(call.getExprLoc(), std::move(*reason), group);
  } else {
    result_.tasks.push_back(std::move(found));
  }
}

void walk::function_used(const FunctionDecl& function, SourceLocation where) {
  if (functions_.empty()) {
    return;
  }
  if (std::optional<std::string> reason = needs_own_thread(function)) {
    thread_needed(where, std::move(*reason));
  } else if (things_.is_changeable(function)) {
    result_.threads.calls(things_.key_of(*functions_.back()), things_.key_of(function));
  }
}

void walk::pause_written(const clang::DeclRefExpr& reference) {
  const SourceLocation begin = reference.getBeginLoc();
  const SourceLocation name = reference.getNameInfo().getLoc();
  const std::string text = reference.getDecl()->getNameAsString();
  if (begin.isMacroID() || name.isMacroID()) {
    thread_needed(name, "calls std::this_thread::" + text + " in a macro, which holds a worker");
  } else if (!functions_.empty()) {
    const place where = place_of(sources_, begin);
    const auto length = place_of(sources_, name).offset - where.offset + text.size();
    result_.pauses[things_.key_of(*functions_.back())].push_back(
        {where, static_cast<unsigned>(length), text});
  }
}

void walk::thread_needed(SourceLocation where, std::string reason) {
  if (!functions_.empty()) {
    result_.threads.needs(things_.key_of(*functions_.back()),
                          {place_of(sources_, where), std::move(reason)});
  }
}

}  // namespace

void walk_syntax(clang::ASTContext& context, findings& result, const changeable_files& files) {
  walk(context, result, files).TraverseDecl(context.getTranslationUnitDecl());
}

}  // namespace cppless::migrate
