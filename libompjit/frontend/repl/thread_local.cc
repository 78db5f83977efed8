/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Thread-local variables of a session, in the host half. Modules know each by
 * the control of libgcc's emulation (hosthalf/thread_local.c), so that is the
 * symbol by which the tool finds it for a later input.
 *
 * A variable of C++ with an initializer that is not constant, or a destructor,
 * has a function that initializes it for a thread, _ZTH1x, and is used through
 * another one that calls this first, _ZTW1x. clang takes what the AST has
 * initialized for the module's own:
 *
 *   a later input                            after link_thread_locals
 *   @_ZTH1x = alias @__tls_init              declare void @_ZTH1x()
 *   define @_ZTW1x() { [call @_ZTH1x]        define internal @_ZTW1x() {
 *     ret @x }                                 call @_ZTH1x  ret @x }
 *
 * A variable that `threadprivate` names in a later input than the one that
 * defines it is another one from there on: the later input defines that.
 */
#include <clang/AST/DeclOpenMP.h>
#include <clang/AST/Mangle.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

std::string ompjit_repl::linked_name(const llvm::GlobalValue &value)
{
    return (value.isThreadLocal() ? OMPJIT__THREAD_LOCAL : "") +
           value.getName().str();
}

/* ------------------------------------------------------------ initializers */

namespace {

class Linker {
  public:
    Linker(Session &session, clang::CodeGenerator &generator)
        : session(session), generator(generator),
          module(*generator.GetModule()),
          names(session.context().createMangleContext())
    {
    }

    void link()
    {
        for (llvm::GlobalVariable &v : module.globals())
            if (v.isThreadLocal())
                link(v);
    }

  private:
    Session &session;
    clang::CodeGenerator &generator;
    llvm::Module &module;
    std::unique_ptr<clang::MangleContext> names;

    void link(llvm::GlobalVariable &v)
    {
        auto *decl = llvm::dyn_cast_or_null<clang::VarDecl>(
            generator.GetDeclForMangledName(v.getName()));
        auto *itanium = llvm::dyn_cast<clang::ItaniumMangleContext>(&*names);
        llvm::SmallString<64> init, wrapper;
        llvm::raw_svector_ostream init_name(init), wrapper_name(wrapper);
        if (!decl || !itanium)
            return;
        itanium->mangleItaniumThreadLocalInit(decl, init_name);
        itanium->mangleItaniumThreadLocalWrapper(decl, wrapper_name);
        llvm::Function *f = module.getFunction(wrapper);
        if (v.isDeclaration() && session.thread_inits.count(init.str().str()))
            use_earlier(v, init, f);
        else if (!v.isDeclaration())
            define(v, *decl, init);
        if (f && !f->isDeclaration()) /* each module has its own */
            make_internal(*f);
    }

    static void make_internal(llvm::GlobalValue &value)
    {
        if (auto *object = llvm::dyn_cast<llvm::GlobalObject>(&value))
            object->setComdat(nullptr);
        value.setVisibility(llvm::GlobalValue::DefaultVisibility);
        value.setLinkage(llvm::GlobalValue::InternalLinkage);
    }

    llvm::FunctionType *type_of_init()
    {
        return llvm::FunctionType::get(
            llvm::Type::getVoidTy(module.getContext()), false);
    }

    /* clang gives none to a static variable that the module does not use. */
    llvm::GlobalValue *find_init(const clang::VarDecl &decl,
                                 llvm::StringRef name)
    {
        llvm::GlobalValue *init = module.getNamedValue(name);
        llvm::Function *all = module.getFunction("__tls_init");
        if (!init && all && !decl.isExternallyVisible() &&
            is_made(session, &decl))
            init = llvm::GlobalAlias::create(
                type_of_init(), 0, llvm::GlobalValue::ExternalLinkage, name,
                all, &module);
        return init;
    }

    /* The module is the first one that has the variable, or it has an inline one
     * once more, whose initializer finds by its guard what has been done. */
    void define(const llvm::GlobalVariable &v, const clang::VarDecl &decl,
                llvm::StringRef name)
    {
        llvm::GlobalValue *init = find_init(decl, name);
        if (!init || init->isDeclaration())
            return;
        if (session.inline_variables.count(linked_name(v))) {
            make_internal(*init);
            return;
        }
        init->setLinkage(llvm::GlobalValue::ExternalLinkage);
        session.symbols_for_all.push_back({name.str(), true});
    }

    void use_earlier(llvm::GlobalVariable &v, llvm::StringRef name,
                     llvm::Function *wrapper)
    {
        llvm::GlobalValue *own = module.getNamedValue(name);
        llvm::Function *init = llvm::Function::Create(
            type_of_init(), llvm::GlobalValue::ExternalLinkage, "", module);
        drop_initializers(v);
        if (own) {
            init->takeName(own);
            own->replaceAllUsesWith(init);
            own->eraseFromParent();
            return;
        }
        init->setName(name);
        if (wrapper && !wrapper->isDeclaration())
            llvm::IRBuilder<>(&*wrapper->getEntryBlock().begin())
                .CreateCall(init);
    }

    /* All but the wrapper and initializers use the variable through the wrapper:
     * initializers of others do. */
    static void drop_initializers(llvm::GlobalVariable &v)
    {
        std::set<llvm::Function *> initializers;
        for (llvm::User *user : v.users())
            for (llvm::User *each :
                 llvm::isa<llvm::IntrinsicInst>(user)
                     ? llvm::SmallVector<llvm::User *>(user->users())
                     : llvm::SmallVector<llvm::User *>{user})
                if (auto *i = llvm::dyn_cast<llvm::Instruction>(each))
                    if (i->getFunction()->getName().starts_with("__cxx_global_"))
                        initializers.insert(i->getFunction());
        for (llvm::Function *f : initializers) {
            for (llvm::User *call : llvm::make_early_inc_range(f->users()))
                llvm::cast<llvm::Instruction>(call)->eraseFromParent();
            f->eraseFromParent();
        }
    }
};

} // namespace

void ompjit_repl::link_thread_locals(Session &session,
                                     clang::CodeGenerator &generator)
{
    if (session.compiler.getLangOpts().CPlusPlus)
        Linker(session, generator).link();
}

/* ----------------------------------------------------------- threadprivate */

std::vector<clang::VarDecl *>
ompjit_repl::late_thread_locals(const Session &session)
{
    const std::vector<clang::VarDecl *> &earlier = session.host_variables;
    std::vector<clang::VarDecl *> found;
    for (clang::DeclGroupRef group : session.recorder.groups) {
        auto *directive = group.isSingleDecl()
                              ? llvm::dyn_cast<clang::OMPThreadPrivateDecl>(
                                    group.getSingleDecl())
                              : nullptr;
        if (!directive)
            continue;
        for (clang::Expr *each : directive->varlist()) {
            auto *v = llvm::cast<clang::VarDecl>(
                llvm::cast<clang::DeclRefExpr>(each)->getDecl());
            if (auto *defined = v->getDefinition())
                v = defined;
            if (llvm::is_contained(earlier, v))
                found.push_back(v);
        }
    }
    return found;
}
