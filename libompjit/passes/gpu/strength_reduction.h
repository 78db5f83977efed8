/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For which loops of variants LLVM's strength reduction is worth its time, a
 * sixth of a build on a CPU and a quarter on a GPU: those with products that an
 * x86-64 has no address for; on a GPU, whose pointers walk by constants
 * (pointer_induction.h), those with strides that are not constant, quotients,
 * or many pointers.
 */
#ifndef OMPJIT_REDUCIBLE_H
#define OMPJIT_REDUCIBLE_H

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/TargetParser/Triple.h>

namespace ompjit {

/* Is it a number times something, other than a scaled index? */
inline bool is_product(const llvm::Instruction &i)
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
inline bool is_stride(const llvm::Instruction &i, const llvm::Loop &loop)
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
inline bool is_computed(const llvm::Instruction &i)
{
    const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
    return address && !address->hasAllConstantIndices();
}

inline bool is_reducible(const llvm::Function &f, const llvm::LoopInfo &loops,
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

} // namespace ompjit
#endif
