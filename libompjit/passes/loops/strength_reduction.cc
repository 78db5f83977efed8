/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's strength reduction takes a sixth of a variant's build on a CPU and a
 * quarter on a GPU. Here is which loops are worth that: those with products
 * that an x86-64 has no address for; on a GPU, whose pointers go from round to
 * round by constants (gpu/pointer_induction.cc), those with strides that are
 * not constant, quotients, or many pointers.
 */
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>

#include "passes/loops/strength_reduction.h"

/* Is it a number times something, other than a scaled index? */
static bool is_product(const llvm::Instruction &i)
{
    if (i.getOpcode() == llvm::Instruction::Mul)
        return i.getType()->isIntegerTy() &&
               llvm::isa<llvm::Constant>(i.getOperand(1));
    const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
    if (!address || address->hasAllConstantIndices())
        return false;
    uint64_t size = i.getDataLayout().getTypeAllocSize(
        address->getSourceElementType());
    return size > 8 || (size & (size - 1));
}

/* Is it a loop's counter that goes by what is no constant? */
static bool is_stride(const llvm::Instruction &i, const llvm::Loop &loop)
{
    const auto *counter = llvm::dyn_cast<llvm::PHINode>(&i);
    if (!counter || i.getParent() != loop.getHeader() || !loop.getLoopLatch())
        return false;
    const auto *next = llvm::dyn_cast<llvm::Instruction>(
        counter->getIncomingValueForBlock(loop.getLoopLatch()));
    if (!next || next->getOpcode() != llvm::Instruction::Add ||
        !llvm::is_contained(next->operands(), counter))
        return false;
    const llvm::Value *by = next->getOperand(next->getOperand(0) == counter);
    return !llvm::isa<llvm::Constant>(by) && loop.isLoopInvariant(by);
}

/* Is it a pointer that a loop computes? */
static bool is_computed(const llvm::Instruction &i)
{
    const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
    return address && !address->hasAllConstantIndices();
}

bool ompjit::is_reducible(const llvm::Function &f,
                          const llvm::LoopInfo &loops,
                          llvm::Triple::ArchType arch)
{
    enum { MANY = 6 }; /* pointers: a register pair each, where they walk */
    bool gpu = arch == llvm::Triple::nvptx64;
    llvm::SmallDenseMap<const llvm::Loop *, unsigned> computed;
    for (const llvm::BasicBlock &block : f)
        if (const llvm::Loop *loop = loops.getLoopFor(&block))
            for (const llvm::Instruction &i : block)
                if (gpu ? is_stride(i, *loop) || i.isIntDivRem() ||
                              (is_computed(i) && ++computed[loop] > MANY)
                        : is_product(i))
                    return true;
    return false;
}
