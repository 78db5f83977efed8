/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Blocks that no path from their function's entry leads to. The verifier asks
 * nothing of their values' order, so that a value may be made of itself there:
 *
 *   dead:
 *     %p = getelementptr i8, ptr %p, i64 8
 *     br label %dead
 *
 * Code that follows a value to its origin, as ours does in many places, would
 * go round for ever. LLVM's own passes leave such blocks out before they look.
 *
 * C++ because LLVM's C API cannot tell which blocks these are.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

/* llvm/llvm.h is C. */
extern "C" void ompjit__drop_unreachable(LLVMModuleRef m);

void ompjit__drop_unreachable(LLVMModuleRef m)
{
    for (llvm::Function &f : *llvm::unwrap(m))
        if (!f.isDeclaration())
            llvm::EliminateUnreachableBlocks(f);
}
