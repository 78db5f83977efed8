// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of `declare target link` in procedures that flang 22 compiles for a
// device. Such a variable is where the program has mapped it, and X of the host
// has a pointer X_decl_tgt_ref_ptr on the device, which the mapping sets. clang
// has device code load it. flang names X itself, a variable that nothing maps:
// its procedures would not see what the program has mapped.
#include <llvm-c/Core.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

extern "C" void ompjit__load_link_variables(LLVMModuleRef m); // dialect.h

static void load_at_uses(llvm::GlobalVariable &variable,
                         llvm::GlobalVariable &pointer)
{
    llvm::convertUsersOfConstantsToInstructions({&variable});
    for (llvm::Use &use : llvm::make_early_inc_range(variable.uses())) {
        auto *user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        if (!user)
            continue;
        auto *phi = llvm::dyn_cast<llvm::PHINode>(user);
        llvm::Instruction *before =
            phi ? phi->getIncomingBlock(use)->getTerminator() : user;
        llvm::IRBuilder<> b(before);
        use.set(b.CreateLoad(variable.getType(), &pointer));
    }
}

void ompjit__load_link_variables(LLVMModuleRef m)
{
    llvm::Module &module = *llvm::unwrap(m);
    for (llvm::GlobalVariable &variable : module.globals()) {
        auto *pointer = module.getNamedGlobal((variable.getName() +
                                               "_decl_tgt_ref_ptr")
                                                  .str());
        if (pointer)
            load_at_uses(variable, *pointer);
    }
}
