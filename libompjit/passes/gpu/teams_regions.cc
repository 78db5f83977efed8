/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Inlines a generic kernel's teams region, which clang outlines and the kernel
 * calls once, with the addresses of its variables. Variables and the parallel
 * regions that get them then stand in one function, where it is seen what needs
 * to be shared (passes/sharing/pass_by_value.c). Before openmp-opt.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

using namespace llvm;

/* frontend/describe/describe.h and passes/gpu/gpu.h are C. */
extern "C" {
bool ompjit__is_generic(LLVMModuleRef m, LLVMValueRef kernel);
void ompjit__inline_teams(LLVMModuleRef m);
}

/* A call of a teams region that nobody else refers to; nullptr: none. */
static CallInst *findRegion(Function &kernel)
{
    for (Instruction &i : instructions(kernel)) {
        auto *call = dyn_cast<CallInst>(&i);
        Function *f = call ? call->getCalledFunction() : nullptr;
        if (f && !f->isDeclaration() && f->hasLocalLinkage() &&
            f->hasOneUse() && f != &kernel &&
            f->getName().contains("_omp_outlined"))
            return call;
    }
    return nullptr;
}

void ompjit__inline_teams(LLVMModuleRef ref)
{
    for (Function &f : *unwrap(ref)) {
        if (f.isDeclaration() || f.getCallingConv() != CallingConv::PTX_Kernel ||
            !ompjit__is_generic(ref, wrap(&f)))
            continue;
        while (CallInst *call = findRegion(f)) {
            Function *region = call->getCalledFunction();
            InlineFunctionInfo info;
            if (!InlineFunction(*call, info).isSuccess())
                break;
            region->eraseFromParent();
        }
    }
}
