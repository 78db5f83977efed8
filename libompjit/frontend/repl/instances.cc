/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What C++ lets each file define that uses it, where a session has one for all
 * inputs. In the host half:
 *
 * - Inline variables, static members of class templates, static variables of
 *   inline functions: the first input whose code has one defines it, and the
 *   modules of later ones declare it.
 * - Locks of `critical` and of reductions: the session has them, and all modules
 *   declare them.
 * - Instances of function templates that an input uses before the template is
 *   defined: the input that defines it has their code.
 *
 * In the device half the same variables: modules of devices are not linked with
 * each other, so code of later inputs reads a pointer to the first one's.
 *
 * The tool gets their symbols, which inputs do not declare by name.
 */
#include <clang/AST/Mangle.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

/* --------------------------------------------------------------- variables */

namespace {

/* A module may have its own of constants. */
bool is_for_all(const llvm::GlobalVariable &v)
{
    return (v.hasLinkOnceODRLinkage() || v.hasWeakODRLinkage()) &&
           !v.isConstant() && !v.isDeclaration();
}

/* Initializers and guards lie in the variable's group. */
void leave_group(llvm::Module &module, const llvm::Comdat *group)
{
    for (llvm::GlobalObject &each : module.global_objects())
        if (group && each.getComdat() == group)
            each.setComdat(nullptr);
}

/* The earlier module has the variable, and its entry for devices. */
void undefine(llvm::Module &module, llvm::GlobalVariable &v)
{
    llvm::GlobalVariable *entry = module.getNamedGlobal(
        (".offloading.entry." + v.getName()).str());
    v.setInitializer(nullptr);
    if (entry && entry->use_empty())
        entry->eraseFromParent();
}

bool is_lock(const llvm::GlobalVariable &v)
{
    return v.hasCommonLinkage() && v.getName().starts_with(OMPJIT__REPL_LOCK);
}

} // namespace

void ompjit_repl::share_inline_variables(Session &session,
                                         llvm::Module &module)
{
    for (llvm::GlobalVariable &v : module.globals()) {
        if (is_lock(v)) {
            v.setLinkage(llvm::GlobalValue::ExternalLinkage);
            v.setInitializer(nullptr);
        }
        if (!is_for_all(v))
            continue;
        const std::string symbol = linked_name(v);
        leave_group(module, v.getComdat());
        v.setLinkage(llvm::GlobalValue::ExternalLinkage);
        if (session.inline_variables.count(symbol))
            undefine(module, v);
        else
            session.symbols_for_all.push_back({symbol, false});
    }
}

/* The dialect makes the pointers, and a variable of the host half that stands for
 * the device's (frontend/dialect/unified.cc): the host's own may be mapped. What
 * else each module may define belongs to a kernel. */
void ompjit_repl::share_on_device(Session &session, llvm::Module &module,
                                  unsigned number)
{
    for (llvm::GlobalVariable &v : module.globals()) {
        if (!is_for_all(v) || !v.getName().starts_with("_Z"))
            continue;
        const std::string known = v.getName().str() + ".on_device";
        const auto [at, first] =
            session.device_statics.emplace(known, number);
        if (first)
            session.symbols_for_all.push_back({known, false});
        leave_group(module, v.getComdat());
        v.setLinkage(llvm::GlobalValue::ExternalLinkage);
        v.setVisibility(llvm::GlobalValue::ProtectedVisibility);
        v.addAttribute(at->second == number ? "ompjit-known-as"
                                            : "ompjit-read-from",
                       known);
    }
}

/* --------------------------------------------------------------- instances */

namespace {

/* The function that a module declares, where it is an instance of a template that
 * is not defined so far. */
clang::FunctionDecl *lacking_instance(const clang::Decl *decl)
{
    auto *f = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl);
    if (!f || f->isDefined() ||
        f->getTemplateSpecializationKind() !=
            clang::TSK_ImplicitInstantiation)
        return nullptr;
    const clang::FunctionDecl *pattern = f->getTemplateInstantiationPattern();
    return pattern && !pattern->isDefined()
               ? const_cast<clang::FunctionDecl *>(f)
               : nullptr;
}

} // namespace

void ompjit_repl::note_lacking_instances(Session &session,
                                         clang::CodeGenerator &generator,
                                         const llvm::Module &module)
{
    for (const llvm::Function &f : module)
        if (f.isDeclaration() && !f.isIntrinsic())
            if (clang::FunctionDecl *decl = lacking_instance(
                    generator.GetDeclForMangledName(f.getName())))
                session.lacking_instances.insert(decl);
}

void ompjit_repl::complete_instances(Session &session)
{
    clang::ASTNameGenerator names(session.context());
    for (clang::FunctionDecl *f : session.lacking_instances) {
        const clang::FunctionDecl *pattern =
            f->getTemplateInstantiationPattern();
        if (f->isDefined() || !pattern || !pattern->isDefined())
            continue;
        session.sema.InstantiateFunctionDefinition(f->getLocation(), f, true);
        if (!f->isDefined())
            continue;
        use(session, f);
        session.symbols_for_all.push_back({names.getName(f), true});
    }
}

void ompjit_repl::keep_instances(Session &session)
{
    if (session.device)
        session.variable_instances.insert(session.variable_instances.end(),
                                          session.recorder.instances.begin(),
                                          session.recorder.instances.end());
    for (const SymbolForAll &each : session.symbols_for_all)
        (each.function ? session.thread_inits : session.inline_variables)
            .insert(each.name);
    for (auto at = session.lacking_instances.begin();
         at != session.lacking_instances.end();)
        at = (*at)->isDefined() ? session.lacking_instances.erase(at)
                                : std::next(at);
}
