/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds inputs that are brief: what they run takes less time, unoptimized, than
 * optimizing it takes. Such an input runs its code unoptimized, and the tool has
 * its functions optimized when another input uses them
 * (tool/repl/session/engine.c). So brief code has two copies. They must not
 * differ for the program: the second one has the variables of the first
 * (passes/hosthalf/continued.c), and no address of a function is asked for.
 *
 * The time is estimated by the AST: loops whose heads have constant bounds have a
 * time, and no function that calls itself has. Other loops count their rounds and
 * go on in optimized code (continued.cc).
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

/* -------------------------------------------------------------------- time */

namespace {

/* Statements and expressions of the AST that run: about a millisecond. */
constexpr double BRIEF = 500000;
constexpr double UNKNOWN = 1e300;

class Times {
  public:
    explicit Times(Session &session) : session(session), c(session.context())
    {
    }

    bool counts = false; /* there are loops with any number of rounds */

    double of(clang::NamedDecl *decl)
    {
        if (auto *f = llvm::dyn_cast<clang::FunctionDecl>(decl))
            return f->isTemplated() ? 0 : of_function(f);
        auto *v = llvm::dyn_cast<clang::VarDecl>(decl);
        return v && !v->isTemplated() ? of(v->getInit()) : 0;
    }

  private:
    Session &session;
    clang::ASTContext &c;
    std::map<const clang::FunctionDecl *, double> functions;

    /* Functions of other inputs are compiled with those. */
    double of_function(const clang::FunctionDecl *f)
    {
        const clang::FunctionDecl *defined = nullptr;
        const clang::Stmt *body = f->getBody(defined);
        if (!body || !(session.is_own(defined->getLocation()) ||
                       defined->isInlined() ||
                       defined->isTemplateInstantiation()))
            return 1;
        auto [at, fresh] = functions.insert({defined, UNKNOWN});
        if (fresh)
            at->second = of(body); /* a map's places stay */
        return at->second;
    }

    double of(const clang::Stmt *statement)
    {
        using namespace clang;
        if (!statement)
            return 0;
        if (isa<IndirectGotoStmt, LambdaExpr, BlockExpr>(statement))
            return UNKNOWN;
        counts |= isa<WhileStmt, DoStmt, CXXForRangeStmt, GotoStmt>(statement);
        if (auto *loop = dyn_cast<ForStmt>(statement))
            return of(loop->getInit()) + 1 +
                   rounds(loop) * (of(loop->getCond()) + of(loop->getInc()) +
                                   of(loop->getBody()));
        if (auto *captured = dyn_cast<CapturedStmt>(statement))
            return of(captured->getCapturedStmt());
        double sum = 1;
        if (auto *call = dyn_cast<CallExpr>(statement))
            if (const FunctionDecl *f = call->getDirectCallee())
                sum += of_function(f);
        if (auto *made = dyn_cast<CXXConstructExpr>(statement))
            sum += of_function(made->getConstructor());
        if (auto *declares = dyn_cast<DeclStmt>(statement))
            for (const Decl *decl : declares->decls())
                if (auto *v = dyn_cast<VarDecl>(decl))
                    sum += of_destructor(v->getType());
        for (const Stmt *child : statement->children())
            sum += of(child);
        return sum;
    }

    double of_destructor(clang::QualType type)
    {
        const auto *record =
            type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
        const auto *f = record && record->hasDefinition()
                            ? record->getDestructor()
                            : nullptr;
        return f && !f->isTrivial() ? of_function(f) : 0;
    }

    bool constant(const clang::Expr *e, double &value)
    {
        clang::Expr::EvalResult result;
        if (!e || e->isValueDependent() || !e->EvaluateAsInt(result, c))
            return false;
        value = result.Val.getInt().roundToDouble();
        return true;
    }

    /* The value that a loop begins with. */
    bool first(const clang::Stmt *init, double &value)
    {
        if (auto *declares = llvm::dyn_cast_or_null<clang::DeclStmt>(init)) {
            auto *v = declares->isSingleDecl()
                          ? llvm::dyn_cast<clang::VarDecl>(
                                declares->getSingleDecl())
                          : nullptr;
            return v && constant(v->getInit(), value);
        }
        auto *set = llvm::dyn_cast_or_null<clang::BinaryOperator>(init);
        return set && set->getOpcode() == clang::BO_Assign &&
               constant(set->getRHS(), value);
    }

    /* By how much a round changes it. */
    bool step(const clang::Expr *inc, double &value)
    {
        value = 1;
        if (auto *by_one = llvm::dyn_cast_or_null<clang::UnaryOperator>(inc))
            return by_one->isIncrementDecrementOp();
        auto *set = llvm::dyn_cast_or_null<clang::BinaryOperator>(inc);
        return set &&
               (set->getOpcode() == clang::BO_AddAssign ||
                set->getOpcode() == clang::BO_SubAssign) &&
               constant(set->getRHS(), value) && value != 0;
    }

    double one_at_least()
    {
        counts = true;
        return 1;
    }

    double rounds(const clang::ForStmt *loop)
    {
        double begin, end, by;
        auto *test =
            llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
        if (!test || !(test->isRelationalOp() ||
                       test->getOpcode() == clang::BO_NE) ||
            !(constant(test->getRHS(), end) ||
              constant(test->getLHS(), end)) ||
            !first(loop->getInit(), begin) || !step(loop->getInc(), by))
            return one_at_least();
        return std::abs(end - begin) / std::abs(by) + 1;
    }
};

/* ------------------------------------------------------------------ copies */

/* Whether two copies can share emulated thread-local storage is not tested. */
bool may_have_copies(const llvm::GlobalVariable &v)
{
    return v.isDeclaration() || !v.isThreadLocal();
}

/* Is it one of the code's, and not a name of the program's? */
bool is_constant_of_code(const llvm::GlobalVariable &v)
{
    return v.isConstant() && v.hasGlobalUnnamedAddr();
}

/* Others call it, and nothing else. */
bool may_have_copies(const llvm::Function &f)
{
    return f.hasLocalLinkage() || f.isIntrinsic() ||
           llvm::all_of(f.uses(), [](const llvm::Use &use) {
               auto *call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
               return (call && call->isCallee(&use)) ||
                      llvm::isa<llvm::Function>(use.getUser());
           });
}

} // namespace

Brief ompjit_repl::is_brief(Session &session, llvm::Module &module)
{
    if (wants_optimizer(module))
        return Brief::NO;
    if (!module.alias_empty() || !module.ifunc_empty())
        return Brief::NO;
    for (const llvm::GlobalVariable &v : module.globals())
        if (!may_have_copies(v))
            return Brief::NO;
    for (const llvm::Function &f : module)
        if (!may_have_copies(f))
            return Brief::NO;
    Times times(session);
    double sum = 0;
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group)
            visit(decl, [&](clang::NamedDecl *each) {
                sum += times.of(each);
            });
    if (sum >= BRIEF)
        return Brief::NO;
    if (!times.counts)
        return Brief::YES;
    return may_be_continued(module) ? Brief::IF_CONTINUED : Brief::NO;
}

void ompjit_repl::share_variables(Session &session, llvm::Module &module,
                                  unsigned number)
{
    module.getOrInsertNamedMetadata(OMPJIT__REPL_SHARES);
    const std::string prefix = "input_" + std::to_string(number);
    for (llvm::GlobalVariable &v : module.globals()) {
        if (v.hasLocalLinkage() && !is_constant_of_code(v)) {
            v.setName(prefix + ".of." + v.getName());
            v.setLinkage(llvm::GlobalValue::ExternalLinkage);
        }
        // Others are names of the program's, which the tool knows.
        if (!v.isDeclaration() && v.getName().starts_with(prefix))
            session.symbols_for_all.push_back({v.getName().str(), false});
    }
}
