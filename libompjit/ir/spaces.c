/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What openmp-opt knows of parameters and later passes do not keep.
 */
#include <llvm-c/Core.h>

#include "ir/ir.h"

enum { STACK = 5 }; /* NVPTX's address space of a thread's own memory */

/* The operand that says where a load or store goes to; -1: it is neither. */
static int pointer_operand(LLVMValueRef i)
{
    if (LLVMIsALoadInst(i))
        return 0;
    return LLVMIsAStoreInst(i) ? 1 : -1;
}

static bool reaches_argument(LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAArgument(pointer);
}

static void check_access(LLVMValueRef i)
{
    int at = pointer_operand(i);
    if (at < 0)
        return;
    LLVMValueRef cast = LLVMGetOperand(i, (unsigned)at);
    if (!LLVMIsAAddrSpaceCastInst(cast) ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(cast)) != STACK)
        return;
    LLVMValueRef from = LLVMGetOperand(cast, 0);
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(from)) == 0 &&
        reaches_argument(from))
        LLVMSetOperand(i, (unsigned)at, from);
}

void ompjit__forget_stack_arguments(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                check_access(i);
}
