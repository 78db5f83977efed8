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

// passes/execution/execution.h is C.
extern "C" {
void ompjit__cut_blocks(LLVMModuleRef m);
void ompjit__join_blocks(LLVMModuleRef m);
}

namespace {

/* Instructions of a piece, and of a block that is left whole. */
enum { PIECE = 64, WHOLE = 4 * PIECE };

/* Of a branch from a piece to the next. */
const char mark[] = "ompjit.piece";

/* Variables of the stack stay in a function's first block. */
void cut(llvm::BasicBlock &block)
{
    llvm::SmallVector<llvm::Instruction *> begins;
    unsigned size = 0;
    for (llvm::Instruction &i : block) {
        if (llvm::isa<llvm::AllocaInst>(i))
            begins.clear();
        if (++size % PIECE == 0 && !i.isTerminator() &&
            !llvm::isa<llvm::PHINode>(i))
            begins.push_back(&i);
    }
    if (size <= WHOLE)
        return;
    llvm::MDNode *empty = llvm::MDNode::get(block.getContext(), {});
    for (llvm::Instruction *begin : llvm::reverse(begins)) {
        block.splitBasicBlock(begin, "piece");
        block.getTerminator()->setMetadata(mark, empty);
    }
}

} // namespace

void ompjit__cut_blocks(LLVMModuleRef m)
{
    for (llvm::Function &f : *llvm::unwrap(m))
        for (llvm::BasicBlock &block : llvm::make_early_inc_range(f))
            cut(block);
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
