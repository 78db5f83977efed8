/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C takes constants alone as initializers of variables outside of functions. At
 * a prompt any expression is fine: the variable begins with zeros, and the value
 * is assigned where its declaration stands between statements.
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include "frontend/repl/repl.h"

using namespace clang;

Expr *ompjit_repl::reference(Session &session, VarDecl *v)
{
    return DeclRefExpr::Create(session.context(), NestedNameSpecifierLoc(),
                               SourceLocation(), v, false, v->getLocation(),
                               v->getType().getNonReferenceType(), VK_LValue);
}

/* No check of Sema's: a const variable is set here once, too. */
Stmt *ompjit_repl::assignment(Session &session, VarDecl *v, Expr *value)
{
    ASTContext &c = session.context();
    QualType type = v->getType().getUnqualifiedType();
    Expr *left = reference(session, v);
    left->setType(type);
    return BinaryOperator::Create(
        c, left, value, BO_Assign, type,
        c.getLangOpts().CPlusPlus ? VK_LValue : VK_PRValue, OK_Ordinary,
        v->getLocation(), FPOptionsOverride());
}

namespace {

/* A const variable would be in memory that cannot be written. Later inputs see
 * it as it was declared. */
void make_writable(ompjit_repl::Session &session, VarDecl *v)
{
    Qualifiers qualifiers;
    session.declared.push_back({v, v->getType()});
    v->setType(
        session.context().getUnqualifiedArrayType(v->getType(), qualifiers));
}

/* The initializer as a value that can be assigned. Lists of arrays and
 * structures are those of a literal, which is written straight to the variable.
 */
Expr *value_of(ompjit_repl::Session &session, VarDecl *v)
{
    ASTContext &c = session.context();
    Expr *init = v->getInit();
    QualType type = v->getType().getUnqualifiedType();
    if (!isa<InitListExpr>(init) && !type->isArrayType())
        return init;
    if (type->isScalarType() || type->isAnyComplexType())
        return init;
    Expr *literal = new (c) CompoundLiteralExpr(
        v->getLocation(), c.getTrivialTypeSourceInfo(type, v->getLocation()),
        type, VK_LValue, init, false);
    return ImplicitCastExpr::Create(c, type, CK_LValueToRValue, literal,
                                    nullptr, VK_PRValue, FPOptionsOverride());
}

} // namespace

bool ompjit_repl::assign(Session &session, DeclGroupRef group, Body &body)
{
    bool any = false;
    for (Decl *decl : group) {
        auto *v = dyn_cast<VarDecl>(decl);
        if (!v || !v->hasInit() || v->isInvalidDecl() ||
            v->getInit()->isConstantInitializer(session.context(), false))
            continue;
        if (!body.active())
            body.begin();
        body.add(assignment(session, v, value_of(session, v)));
        v->setInit(nullptr);
        make_writable(session, v);
        session.recorder.CompleteTentativeDefinition(v);
        any = true;
    }
    return any;
}

void ompjit_repl::restore_types(Session &session)
{
    for (auto [v, type] : session.declared)
        v->setType(type);
    session.declared.clear();
}
