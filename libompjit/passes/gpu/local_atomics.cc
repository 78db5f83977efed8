// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compare-and-exchange on variables of a thread's stack. PTX has atomics on
// global and shared memory only; LLVM 22 knows that of its other atomic
// instructions, but writes atom.local.cas, which no assembler takes. Storage
// that other threads cannot reach needs no atomic: an omp_lock_t on the stack
// of a thread.
#include <vector>
#include <llvm-c/Core.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

// passes/passes.h is C.
extern "C" void ompjit__lower_local(LLVMModuleRef m);

void ompjit__lower_local(LLVMModuleRef ref)
{
    std::vector<llvm::AtomicCmpXchgInst *> found;
    for (llvm::Function &f : *llvm::unwrap(ref))
        for (llvm::Instruction &i : llvm::instructions(f))
            if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i))
                if (llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(
                        exchange->getPointerOperand(), 0)))
                    found.push_back(exchange);
    for (llvm::AtomicCmpXchgInst *exchange : found)
        llvm::lowerAtomicCmpXchgInst(exchange);
}
