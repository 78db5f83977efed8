/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One kernel of a unit as a module of its own: the kernel, what it names, and what
 * images of one unit have to agree about. A unit may have hundreds of kernels, and
 * each is built by itself.
 *
 * Images share the unit's variables: the first one exports all, and the others
 * find them by their places in a list (globals.c). So all are kept, in their order.
 * Left out are other kernels, their environments, and constants that nobody names:
 * strings and source locations.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "passes/clone.h"
#include "passes/extract_kernel.h"

using namespace llvm;

namespace {

class KernelCloner final : public ompjit::Cloner {
public:
    using Cloner::Cloner;

private:
    bool has(const Function &) const override { return true; }
    bool has(const GlobalVariable &) const override { return true; }
    bool has(const GlobalAlias &) const override { return true; }
};

bool is_kernel(const GlobalValue &g)
{
    auto *f = dyn_cast<Function>(&g);
    return f && f->getCallingConv() == CallingConv::PTX_Kernel;
}

/* clang's two variables of each kernel. */
bool is_environment(const GlobalValue &g)
{
    return g.getName().ends_with("_kernel_environment") ||
           g.getName().ends_with("_dynamic_environment");
}

/* Does the constant name anything but constants of the same kind? */
bool names_more(const Constant *c, unsigned depth)
{
    if (auto *g = dyn_cast<GlobalVariable>(c))
        return !depth || !g->isConstant() || !g->hasLocalLinkage() ||
               !g->hasInitializer() || names_more(g->getInitializer(), depth - 1);
    if (isa<GlobalValue>(c))
        return true;
    return any_of(c->operands(), [depth](const Use &u) {
        auto *operand = dyn_cast<Constant>(u);
        return !operand || names_more(operand, depth);
    });
}

bool is_left_out(const GlobalVariable &g)
{
    constexpr unsigned DEEP = 4;
    return g.isDeclaration() || is_environment(g) ||
           g.getName() == "llvm.used" || g.getName() == "llvm.compiler.used" ||
           (g.isConstant() && g.hasLocalLinkage() && !names_more(&g, DEEP));
}

} // namespace

struct ompjit__kernels {
    Module &m;
    std::vector<GlobalValue *> kept;          /* in each, in this order     */
    SmallVector<GlobalValue *, 4> used[2];    /* llvm.used, .compiler.used  */
};

/* A constant with a variable's address in it is shared by images if it is named,
 * which is not the same in each kernel's module. */
ompjit__kernels *ompjit__kernels_new(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    auto all = std::make_unique<ompjit__kernels>(ompjit__kernels{m, {}, {}});
    if (!m.ifuncs().empty() || !m.getModuleInlineAsm().empty())
        return nullptr;
    for (GlobalVariable &g : m.globals()) {
        if (ompjit__refers_to_shared(wrap(&g)))
            return nullptr;
        if (!is_left_out(g))
            all->kept.push_back(&g);
    }
    for (GlobalAlias &a : m.aliases())
        all->kept.push_back(&a);
    for (bool compiler : {false, true})
        collectUsedGlobalVariables(m, all->used[compiler], compiler);
    return all.release();
}

void ompjit__kernels_free(ompjit__kernels *all)
{
    delete all;
}

LLVMModuleRef ompjit__kernels_take(const ompjit__kernels *all,
                                   const char *kernel)
{
    Function *f = all->m.getFunction(kernel);
    if (!f || f->isDeclaration())
        return nullptr;
    std::unique_ptr<Module> to = ompjit::Cloner::empty_like(all->m);
    KernelCloner cloner(*to);
    for (GlobalValue *g : all->kept)
        cloner.take(*g);
    cloner.take(*f);
    for (bool compiler : {false, true}) {
        SmallVector<GlobalValue *, 8> used;
        for (GlobalValue *g : all->used[compiler])
            if (!is_kernel(*g) && !is_environment(*g))
                used.push_back(cast<GlobalValue>(cloner.take(*g)));
        if (!used.empty())
            compiler ? appendToCompilerUsed(*to, used) : appendToUsed(*to, used);
    }
    cloner.finish();
    return wrap(to.release());
}
