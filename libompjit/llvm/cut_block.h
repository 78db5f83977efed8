/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Long blocks become pieces, for passes of LLVM whose time grows with the square
 * of a block's length.
 */
#ifndef OMPJIT_LLVM_CUT_BLOCK_H
#define OMPJIT_LLVM_CUT_BLOCK_H

#include <llvm/IR/BasicBlock.h>

namespace ompjit {

/* Cuts a block behind every `piece` instructions, if it has more than `whole`;
 * false: it has not. Each piece ends with a branch that has metadata of the kind
 * `mark`. Variables of the stack stay in a function's first block. */
bool cut_block(llvm::BasicBlock &block, unsigned piece, unsigned whole,
               const char *mark);

} // namespace ompjit
#endif
