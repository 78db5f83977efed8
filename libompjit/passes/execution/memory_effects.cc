/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Widens the attribute memory(argmem: ...) to any memory, for openmp-opt of
 * LLVM 22. openmp-opt looks through parameters: where all callers pass one
 * variable, it deduces that the function accesses that variable and no memory
 * of its arguments. The attribute says the contrary. LLVM ignores the attribute
 * of internal functions for that reason, but in a call from a kernel, which is
 * not internal, it takes both for true
 * (AAMemoryLocationImpl::getKnownStateFromValue asks the caller's linkage): the
 * call then accesses nothing, and is removed. The first run of openmp-opt sets
 * the attribute and puts variables into shared memory, so that the second run
 * removed constructors.
 *
 * C++ because LLVM's C API does not interpret the attribute's number.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ModRef.h>

// passes/execution/execution.h is C.
extern "C" void ompjit__widen_memory_effects(LLVMModuleRef m);

/* The same reads and writes, of any memory. */
static llvm::MemoryEffects widened(llvm::MemoryEffects effects)
{
    return effects.onlyAccessesInaccessibleOrArgMem() &&
                   !effects.onlyAccessesInaccessibleMem()
               ? llvm::MemoryEffects(effects.getModRef())
               : effects;
}

/* A declaration's attribute is a promise of the program and stays; openmp-opt
 * deduces nothing else of a declaration. */
static void widen_call(llvm::CallBase &call)
{
    const llvm::Function *callee = call.getCalledFunction();
    if (callee && callee->isDeclaration())
        return;
    llvm::MemoryEffects effects = call.getAttributes().getMemoryEffects();
    if (widened(effects) != effects)
        call.setMemoryEffects(widened(effects));
}

void ompjit__widen_memory_effects(LLVMModuleRef m)
{
    for (llvm::Function &f : *llvm::unwrap(m)) {
        if (f.isDeclaration())
            continue;
        llvm::MemoryEffects effects = f.getMemoryEffects();
        if (widened(effects) != effects)
            f.setMemoryEffects(widened(effects));
        for (llvm::Instruction &i : llvm::instructions(f))
            if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i))
                widen_call(*call);
    }
}
