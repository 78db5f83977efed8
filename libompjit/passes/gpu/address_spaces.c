/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Takes back what openmp-opt has inferred of the stack's address space, where
 * later passes do not keep it true. Some of them exchange the variable that is
 * accessed for other memory and look through the cast: instcombine takes the
 * constant that a variable is only copied from, memcpyopt has a call fill the
 * memory that a variable is copied to, and a constant that all callers pass
 * replaces the parameter. The access then reads or writes nowhere. The code
 * generator infers the spaces once more, when variables no longer change.
 */
#include <llvm-c/Core.h>

#include "passes/gpu/gpu.h"

enum { STACK = 5 }; /* NVPTX's address space of a thread's own memory */

/* The operand that says where a load or store goes to; -1: it is neither. An
 * atomic operation keeps its space: a GPU has none on the stack, so that LLVM
 * has to know that it expands one to loads and stores. */
static int pointer_operand(LLVMValueRef i)
{
    if (LLVMIsALoadInst(i))
        return 0;
    return LLVMIsAStoreInst(i) ? 1 : -1;
}

/* The generic pointer that is cast to one of the stack's, or NULL. */
static LLVMValueRef generic_pointer(LLVMValueRef pointer)
{
    if (!LLVMIsAAddrSpaceCastInst(pointer) ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != STACK)
        return NULL;
    LLVMValueRef from = LLVMGetOperand(pointer, 0);
    return LLVMGetPointerAddressSpace(LLVMTypeOf(from)) == 0 ? from : NULL;
}

static void make_generic(LLVMValueRef i)
{
    int at = pointer_operand(i);
    LLVMValueRef from =
        at < 0 ? NULL : generic_pointer(LLVMGetOperand(i, (unsigned)at));
    if (from)
        LLVMSetOperand(i, (unsigned)at, from);
}

void ompjit__forget_stack_accesses(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                make_generic(i);
}
