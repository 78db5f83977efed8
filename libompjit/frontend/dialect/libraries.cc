// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries that a device half brings along, because its compiler has linked
// them into it:
//
//   the device runtime  LLVM's own, in images that were linked with device LTO.
//                       The functions of the runtime table are declarations
//                       again: ours define them
//   libdevice           CUDA's mathematics, by clang on a machine with CUDA.
//                       Likewise, as far as it is not inlined
//
// Functions that only these have called go with them. And libdevice's functions
// write no memory but what their pointers lead to, which their declarations by
// clang's headers do not say.
#include <llvm-c/Core.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ModRef.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

extern "C" { // frontend/frontend.h and table/rows.h are C
int ompjit__rtl_next(const char *name, int after);
void ompjit__drop_libraries(LLVMModuleRef m);
}

using namespace llvm;

static bool is_libdevice(const Function &f)
{
    return f.getName().starts_with("__nv_");
}

static bool is_runtimes(const Function &f)
{
    return ompjit__rtl_next(f.getName().str().c_str(), -1) >= 0;
}

static bool drop_bodies(Module &m)
{
    bool any = false;
    for (Function &f : m)
        if (!f.isDeclaration() && (is_libdevice(f) || is_runtimes(f))) {
            f.deleteBody(); // its linkage is external then
            f.setVisibility(GlobalValue::DefaultVisibility);
            f.setComdat(nullptr);
            any = true;
        }
    return any;
}

// The runtime's own variables, which lists of what is used keep.
static bool is_runtimes_variable(Constant *c)
{
    auto *g = dyn_cast<GlobalVariable>(c->stripPointerCasts());
    return g && g->getName().starts_with("__omp_rtl_");
}

static bool drop_unused(Module &m)
{
    bool any = false;
    for (Function &f : make_early_inc_range(m))
        if (f.hasLocalLinkage() && f.use_empty()) {
            f.eraseFromParent();
            any = true;
        }
    for (GlobalVariable &g : make_early_inc_range(m.globals()))
        if (g.use_empty() &&
            (g.hasLocalLinkage() || is_runtimes_variable(&g))) {
            g.eraseFromParent();
            any = true;
        }
    return any;
}

static void make_pure(Function &f)
{
    bool pointers = any_of(f.args(), [](const Argument &a) {
        return a.getType()->isPointerTy();
    });
    f.setMemoryEffects(pointers ? MemoryEffects::argMemOnly()
                                : MemoryEffects::none());
    f.setDoesNotThrow();
    f.setWillReturn();
    f.setNotConvergent();
    for (User *user : f.users())
        if (auto *call = dyn_cast<CallBase>(user))
            call->setNotConvergent();
}

void ompjit__drop_libraries(LLVMModuleRef module)
{
    Module &m = *unwrap(module);
    if (drop_bodies(m)) {
        removeFromUsedLists(m, is_runtimes_variable);
        while (drop_unused(m))
            ;
    }
    for (Function &f : m)
        if (is_libdevice(f))
            make_pure(f);
}
