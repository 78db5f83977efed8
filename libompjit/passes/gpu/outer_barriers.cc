/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Drops barriers of a GPU's variant before all that a kernel does with memory,
 * and behind it: they order nothing. openmp-opt takes long to find out about
 * others, and about the runtime: it is asked where there is any.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CBindingWrapping.h>
#include <llvm/Transforms/IPO/OpenMPOpt.h>

#include "passes/gpu/loop_passes.h"

// passes/passes.h is C.
extern "C" void ompjit__widen_memory_effects(LLVMModuleRef m);
extern "C" void ompjit__forget_stack_accesses(LLVMModuleRef m);

static bool is_barrier(const llvm::Function &f)
{
    return f.getIntrinsicID() ==
           llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all;
}

static bool is_barrier(const llvm::Instruction &i)
{
    const auto *call = llvm::dyn_cast<llvm::CallInst>(&i);
    return call && call->getCalledFunction() &&
           is_barrier(*call->getCalledFunction());
}

/* Barriers up to the first instruction that has to do with memory. */
template <typename Range> static void drop(Range instructions)
{
    for (llvm::Instruction &i :
         llvm::make_early_inc_range(instructions)) {
        if (is_barrier(i))
            i.eraseFromParent();
        else if (i.mayReadOrWriteMemory())
            return;
    }
}

/* The block that all threads leave the kernel by, if there is one. */
static llvm::BasicBlock *find_end(llvm::Function &kernel)
{
    llvm::BasicBlock *end = nullptr;
    for (llvm::BasicBlock &block : kernel) {
        if (!llvm::isa<llvm::ReturnInst>(block.getTerminator()))
            continue;
        if (end)
            return nullptr;
        end = &block;
    }
    return end;
}

static void drop_at_ends(llvm::Function &kernel)
{
    llvm::BasicBlock &begin = kernel.front();
    drop(llvm::make_range(begin.begin(), begin.end()));
    if (llvm::BasicBlock *end = find_end(kernel))
        drop(llvm::reverse(*end));
}

/* Is a barrier left, or a function that is not defined and may be the
 * runtime's? Then openmp-opt is asked. */
static bool is_of_interest(const llvm::Function &f)
{
    return f.isDeclaration() && !f.use_empty() &&
           (!f.isIntrinsic() || is_barrier(f));
}

llvm::PreservedAnalyses
ompjit::GpuOuterBarriers::run(llvm::Module &m,
                              llvm::ModuleAnalysisManager &analyses)
{
    for (llvm::Function &f : m)
        if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel &&
            !f.isDeclaration())
            drop_at_ends(f);
    if (llvm::any_of(m, is_of_interest)) {
        ompjit__widen_memory_effects(llvm::wrap(&m));
        llvm::OpenMPOptPass().run(m, analyses);
        ompjit__forget_stack_accesses(llvm::wrap(&m));
    }
    return llvm::PreservedAnalyses::none();
}
