/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Cuts long blocks into pieces for openmp-opt of LLVM 22, and joins them again.
 * To find out whether an instruction is dead, which it does for each one several
 * times, the Attributor looks at all before it in its block
 * (AAIsDeadFunction::isAssumedDead): 3,000 stores in a row took 30 seconds.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "llvm/cut_block.h"

// passes/execution/execution.h is C.
extern "C" {
void ompjit__cut_blocks(LLVMModuleRef m);
void ompjit__join_blocks(LLVMModuleRef m);
}

/* The metadata that a branch from a piece to the next has. */
static const char mark[] = "ompjit.piece";

void ompjit__cut_blocks(LLVMModuleRef m)
{
    enum { PIECE = 64, WHOLE = 4 * PIECE };
    for (llvm::Function &f : *llvm::unwrap(m))
        for (llvm::BasicBlock &block : llvm::make_early_inc_range(f))
            ompjit::cut_block(block, PIECE, WHOLE, mark);
}

void ompjit__join_blocks(LLVMModuleRef m)
{
    for (llvm::Function &f : *llvm::unwrap(m))
        for (llvm::BasicBlock &block : llvm::make_early_inc_range(f)) {
            llvm::BasicBlock *before = block.getUniquePredecessor();
            if (before && before->getTerminator()->getMetadata(mark))
                llvm::MergeBlockIntoPredecessor(&block);
        }
}
