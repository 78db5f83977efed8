/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ because LLVM's C API can add module flags but not remove any, and not
 * count a module's instructions. Without the flag "openmp" LLVM's openmp-opt
 * leaves a module alone; on one that is no longer GPU code it would rewrite
 * execution modes without the code for them.
 */
#include <cstring>
#include <llvm-c/Core.h>
#include <llvm/IR/Module.h>

extern "C" void ompjit__drop_openmp_flags(LLVMModuleRef m);
extern "C" void ompjit__add_openmp_flags(LLVMModuleRef m);
extern "C" unsigned ompjit__instruction_count(LLVMModuleRef m);

void ompjit__drop_openmp_flags(LLVMModuleRef m)
{
    llvm::Module &module = *llvm::unwrap(m);
    llvm::SmallVector<llvm::Module::ModuleFlagEntry, 8> flags;
    module.getModuleFlagsMetadata(flags);
    if (llvm::NamedMDNode *all = module.getModuleFlagsMetadata())
        module.eraseNamedMetadata(all);
    for (const llvm::Module::ModuleFlagEntry &flag : flags)
        if (!flag.Key->getString().starts_with("openmp"))
            module.addModuleFlag(flag.Behavior, flag.Key->getString(),
                                 flag.Val);
}

void ompjit__add_openmp_flags(LLVMModuleRef m)
{
    constexpr unsigned version = 51; /* openmp-opt asks if there is one */
    for (const char *key : {"openmp", "openmp-device"})
        llvm::unwrap(m)->addModuleFlag(llvm::Module::Max, key, version);
}

unsigned ompjit__instruction_count(LLVMModuleRef m)
{
    return llvm::unwrap(m)->getInstructionCount();
}
