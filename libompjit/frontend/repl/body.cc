/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The statements of an input become the body of a function, void input_N(void),
 * in whose scope the parser reads them. Declarations stand outside of it: each
 * run of statements between two declarations has a function of its own.
 */
#include <clang/AST/ASTContext.h>
#include <clang/Sema/Scope.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

Body::Body(clang::Parser &parser, const std::string &name)
    : parser(parser), name(name)
{
}

/* As the parser does it at a function's brace (ParseFunctionDefinition). */
void Body::begin()
{
    clang::Sema &sema = parser.getActions();
    clang::ASTContext &c = sema.getASTContext();
    start = parser.getCurToken().getLocation();
    std::string own = n++ ? name + "_" + std::to_string(n) : name;
    clang::QualType type = c.getFunctionType(
        c.VoidTy, {}, clang::FunctionProtoType::ExtProtoInfo());
    function = clang::FunctionDecl::Create(
        c, c.getTranslationUnitDecl(), start, start, &c.Idents.get(own), type,
        c.getTrivialTypeSourceInfo(type, start), clang::SC_None);
    function->setImplicit();
    if (c.getLangOpts().CPlusPlus)
        function->addAttr(clang::AsmLabelAttr::CreateImplicit(c, own));
    c.getTranslationUnitDecl()->addDecl(function);
    parser.EnterScope(clang::Scope::FnScope | clang::Scope::DeclScope |
                      clang::Scope::CompoundStmtScope);
    sema.ActOnStartOfFunctionDef(parser.getCurScope(), function);
    sema.ActOnStartOfCompoundStmt(false);
}

clang::FunctionDecl *Body::end()
{
    if (!function)
        return nullptr;
    clang::Sema &sema = parser.getActions();
    clang::StmtResult all = sema.ActOnCompoundStmt(
        start, parser.getEndOfPreviousToken(), statements, false);
    sema.ActOnFinishOfCompoundStmt();
    parser.ExitScope();
    sema.ActOnFinishFunctionBody(function, all.get());
    clang::FunctionDecl *done = function;
    function = nullptr;
    statements.clear();
    return done;
}
