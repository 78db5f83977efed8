/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Cuts from the last piece to the first, so that each instruction moves once.
 */
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Instructions.h>

#include "llvm/cut_block.h"

bool ompjit::cut_block(llvm::BasicBlock &block, unsigned piece, unsigned whole,
                       const char *mark)
{
    llvm::SmallVector<llvm::Instruction *> begins;
    unsigned size = 0;
    for (llvm::Instruction &i : block) {
        if (llvm::isa<llvm::AllocaInst>(i))
            begins.clear();
        if (++size % piece == 0 && !i.isTerminator() &&
            !llvm::isa<llvm::PHINode>(i))
            begins.push_back(&i);
    }
    if (size <= whole)
        return false;
    llvm::MDNode *empty = llvm::MDNode::get(block.getContext(), {});
    for (llvm::Instruction *begin : llvm::reverse(begins)) {
        block.splitBasicBlock(begin, "piece");
        block.getTerminator()->setMetadata(mark, empty);
    }
    return true;
}
