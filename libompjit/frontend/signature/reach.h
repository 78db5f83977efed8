/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Whether control comes to a block, by the arguments of its function.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_REACH_H
#define OMPJIT_FRONTEND_SIGNATURE_REACH_H

#include <llvm/Analysis/PostDominators.h>

#include "frontend/signature/expression.h"

namespace signature {

class Reach
{
  public:
    Reach(llvm::Function &f, const llvm::DominatorTree &tree,
          const Expressions &expressions)
        : f(f), tree(tree), expressions(expressions), ends(f)
    {
    }
    /* A program that is 1 only if control comes to the block in every call with
     * these arguments, unless a function that it calls before does not return.
     */
    std::string certain(llvm::BasicBlock *block);

  private:
    Program of(llvm::BasicBlock *block, unsigned depth);
    Program edge(llvm::BasicBlock *from, llvm::BasicBlock *to);

    llvm::Function &f;
    const llvm::DominatorTree &tree;
    const Expressions &expressions;
    llvm::PostDominatorTree ends;
};

} // namespace signature

#endif
