/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects flang 22's line tables: the functions that it makes for a reduction
 * have the lines of the kernel, and are part of no subprogram. Where such a
 * function is inlined, its lines would be another function's, which LLVM takes
 * for broken IR. They are dropped.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "frontend/dialect/dialect.h"

static void drop_lines(LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            LLVMInstructionSetDebugLoc(i, NULL);
}

void ompjit__drop_stray_lines(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMGetSubprogram(f))
            drop_lines(f);
}
