/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An expression at the end of an input, without a semicolon, has its value kept
 * in a variable with the name `_`:
 *
 *   a scalar, or a structure in C    _ = expression;
 *   an array, an object of C++       input_N_at = &expression; and _ is what
 *                                    that points to, by the symbol input_N_is
 *   a temporary object of C++        static T value = expression; likewise
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Sema/Initialization.h>
#include <clang/Sema/Scope.h>

#include "frontend/repl/repl.h"

using namespace clang;
using namespace ompjit_repl;

namespace {

/* The expression that was converted to a value. */
Expr *object_of(Expr *e)
{
    for (;;) {
        e = e->IgnoreParens();
        auto *cast = dyn_cast<ImplicitCastExpr>(e);
        if (!cast || (cast->getCastKind() != CK_LValueToRValue &&
                      cast->getCastKind() != CK_ArrayToPointerDecay &&
                      cast->getCastKind() != CK_NoOp))
            return e;
        e = cast->getSubExpr();
    }
}

class Keeper {
  public:
    Keeper(Session &session, const Input &input, Body &body, Value &value)
        : session(session), c(session.context()), input(input), body(body),
          value(value)
    {
    }

    void keep(Expr *e)
    {
        Expr *object = object_of(e);
        const bool array = object->getType()->isArrayType() &&
                           object->isLValue() &&
                           !object->getType()->isVariableArrayType();
        if (e->getType()->isVoidType() || e->getType()->isDependentType()) {
            value = {OMPJIT__REPL_VOID, "", c.VoidTy};
            body.add(e);
        } else if (array || (is_object(object) && object->isLValue())) {
            keep_address(object);
        } else if (is_object(e)) {
            keep_temporary(e);
        } else {
            keep_copy(e);
        }
    }

  private:
    Session &session;
    ASTContext &c;
    const Input &input;
    Body &body;
    Value &value;

    bool is_object(Expr *e)
    {
        return e->getType()->getAsCXXRecordDecl() != nullptr;
    }

    std::string symbol(const char *what)
    {
        return "input_" + std::to_string(input.number) + what;
    }

    /* A variable outside of functions, with this symbol. */
    VarDecl *variable(const std::string &name, QualType type,
                      const std::string &symbol, StorageClass storage)
    {
        const SourceLocation at =
            session.parser.getCurToken().getLocation();
        auto *v = VarDecl::Create(c, c.getTranslationUnitDecl(), at, at,
                                  &c.Idents.get(name), type,
                                  c.getTrivialTypeSourceInfo(type, at),
                                  storage);
        v->setImplicit();
        v->addAttr(AsmLabelAttr::CreateImplicit(c, symbol));
        c.getTranslationUnitDecl()->addDecl(v);
        return v;
    }

    /* `_` for the inputs that follow. The parser is in a function: the name
     * belongs to the file. */
    void name_it(VarDecl *v)
    {
        session.last_value = v;
    }

    void define(VarDecl *v)
    {
        session.recorder.HandleTopLevelDecl(DeclGroupRef(v));
        if (!c.getLangOpts().CPlusPlus)
            session.recorder.CompleteTentativeDefinition(v);
    }

    void keep_copy(Expr *e)
    {
        Expr *right = e;
        if (right->isGLValue())
            right = session.sema.DefaultFunctionArrayLvalueConversion(e).get();
        if (!right)
            return;
        QualType type = right->getType().getUnqualifiedType();
        VarDecl *v = variable("_", type, symbol("_is"), SC_None);
        body.add(assignment(session, v, right));
        define(v);
        name_it(v);
        value = {OMPJIT__REPL_DIRECT, symbol("_is"), type};
    }

    void keep_address(Expr *object)
    {
        /* A variable whose type has no name that all modules know, as that of
         * a lambda, would have no symbol. */
        QualType any = c.getPointerType(c.VoidTy.withConst().withVolatile());
        Expr *address = UnaryOperator::Create(
            c, object, UO_AddrOf, c.getPointerType(object->getType()),
            VK_PRValue, OK_Ordinary, object->getExprLoc(), false,
            FPOptionsOverride());
        address = ImplicitCastExpr::Create(c, any, CK_BitCast, address,
                                           nullptr, VK_PRValue,
                                           FPOptionsOverride());
        VarDecl *at = variable(symbol("_at"), any, symbol("_at"), SC_None);
        body.add(assignment(session, at, address));
        define(at);
        name_it(variable("_", object->getType(), symbol("_is"), SC_Extern));
        value = {OMPJIT__REPL_POINTER, symbol("_at"), object->getType()};
    }

    /* An object that lives as long as the session, in the function. */
    void keep_temporary(Expr *e)
    {
        const SourceLocation at = e->getExprLoc();
        QualType type = e->getType().getUnqualifiedType();
        auto *v = VarDecl::Create(c, session.sema.CurContext, at, at,
                                  &c.Idents.get(symbol("_value")), type,
                                  c.getTrivialTypeSourceInfo(type, at),
                                  SC_Static);
        session.sema.CurContext->addDecl(v);
        session.sema.AddInitializerToDecl(v, e, false);
        if (v->isInvalidDecl())
            return;
        session.sema.FinalizeDeclaration(v);
        body.add(new (c) DeclStmt(DeclGroupRef(v), at, at));
        keep_address(reference(session, v));
    }
};

} // namespace

void ompjit_repl::keep_value(Session &session, const Input &input, Expr *e,
                             Body &body, Value &value)
{
    Keeper(session, input, body, value).keep(e);
}

void ompjit_repl::look_at_value(Expr *e, Value &value)
{
    Expr *object = object_of(e);
    value = {OMPJIT__REPL_TYPE_ONLY, "", object->getType()};
}

void ompjit_repl::name_value(Session &session)
{
    if (!session.last_value)
        return;
    DeclarationName key(&session.context().Idents.get("_"));
    std::vector<NamedDecl *> before;
    for (auto at = session.sema.IdResolver.begin(key);
         at != session.sema.IdResolver.end(); ++at)
        before.push_back(*at);
    for (NamedDecl *decl : before)
        remove(session, decl);
    session.sema.PushOnScopeChains(session.last_value, session.sema.TUScope,
                                   false);
    session.last_value = nullptr;
}
