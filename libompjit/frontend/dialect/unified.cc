// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of a program that requires unified shared memory. In functions that
// device code calls clang refers to them as if the device had them, and gives
// it none. They are the host's: the device half gets a pointer to each, and the
// host half an entry that fills it, as for `declare target link`.
#include <string>
#include <llvm-c/Core.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

extern "C" { // frontend/frontend.h is C
bool ompjit__requires_unified(LLVMModuleRef host);
void ompjit__link_entry(LLVMModuleRef host, LLVMValueRef pointer);
bool ompjit__unify_variables(LLVMModuleRef device, LLVMModuleRef host);
}

static bool is_hosts(const llvm::GlobalVariable &g, const llvm::Module &host)
{
    const llvm::GlobalVariable *own = host.getGlobalVariable(g.getName(), true);
    return g.isDeclaration() && !g.use_empty() && own &&
           !own->isDeclaration() && !own->isThreadLocal();
}

static llvm::GlobalVariable *new_pointer(llvm::Module &m,
                                         const std::string &name,
                                         llvm::Constant *value)
{
    auto *p = new llvm::GlobalVariable(m, value->getType(), false,
                                       llvm::GlobalValue::WeakAnyLinkage,
                                       value, name);
    p->setAlignment(llvm::Align(8));
    return p;
}

// In each function the pointer is read once, at its beginning.
static void read_pointer(llvm::GlobalVariable &g, llvm::GlobalVariable *pointer)
{
    llvm::convertUsersOfConstantsToInstructions({&g});
    for (llvm::Use &use : llvm::make_early_inc_range(g.uses())) {
        auto *user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        if (!user)
            continue;
        llvm::Function *f = user->getFunction();
        llvm::IRBuilder<> builder(&*f->getEntryBlock().getFirstInsertionPt());
        auto *address = builder.CreateLoad(g.getType(), pointer, "host");
        g.replaceUsesWithIf(address, [f](llvm::Use &u) {
            auto *i = llvm::dyn_cast<llvm::Instruction>(u.getUser());
            return i && i->getFunction() == f;
        });
    }
}

bool ompjit__unify_variables(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    if (!ompjit__requires_unified(host_ref))
        return false;
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    std::vector<llvm::GlobalVariable *> found;
    for (llvm::GlobalVariable &g : device.globals())
        if (is_hosts(g, host))
            found.push_back(&g);
    for (llvm::GlobalVariable *g : found) {
        std::string name = (g->getName() + "_decl_tgt_ref_ptr").str();
        if (host.getNamedValue(name) || device.getNamedValue(name))
            continue;
        read_pointer(*g, new_pointer(device, name,
                                     llvm::Constant::getNullValue(
                                         g->getType())));
        ompjit__link_entry(
            host_ref,
            llvm::wrap(new_pointer(
                host, name, host.getGlobalVariable(g->getName(), true))));
    }
    return !found.empty();
}
