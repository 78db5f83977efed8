/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loads of pointers of which only the low bits count load only those: what is
 * handed to a region by value (passes/sharing/pass_by_value.c) comes as a
 * pointer, and LLVM keeps that. A list of 64 would otherwise be in 128 registers.
 *
 *     p = load ptr, a              v = load i32, a
 *     n = ptrtoint p to i64
 *     v = trunc n to i32
 *
 * The target is little-endian. Requires optimized code.
 */
#include <llvm-c/Core.h>

#include "passes/gpu/gpu.h"

/* The one user of a value; NULL: none or several. */
static LLVMValueRef only_user(LLVMValueRef v)
{
    LLVMUseRef use = LLVMGetFirstUse(v);
    return use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
}

/* The truncation that is all that a load is for; NULL: there is another use. */
static LLVMValueRef find_truncation(LLVMValueRef load)
{
    if (LLVMGetVolatile(load) ||
        LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic ||
        LLVMGetTypeKind(LLVMTypeOf(load)) != LLVMPointerTypeKind)
        return NULL;
    LLVMValueRef number = only_user(load);
    if (number && LLVMIsAPtrToIntInst(number) &&
        LLVMGetIntTypeWidth(LLVMTypeOf(number)) == 64)
        number = only_user(number);
    else
        return NULL;
    if (!number || !LLVMIsATruncInst(number))
        return NULL;
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(number));
    return bits == 8 || bits == 16 || bits == 32 ? number : NULL;
}

static void narrow(LLVMBuilderRef b, LLVMValueRef load, LLVMValueRef trunc)
{
    LLVMValueRef number = LLVMGetOperand(trunc, 0);
    LLVMPositionBuilderBefore(b, load);
    LLVMValueRef less =
        LLVMBuildLoad2(b, LLVMTypeOf(trunc), LLVMGetOperand(load, 0), "");
    LLVMSetAlignment(less, LLVMGetAlignment(load));
    LLVMReplaceAllUsesWith(trunc, less);
    LLVMInstructionEraseFromParent(trunc);
    LLVMInstructionEraseFromParent(number);
    LLVMInstructionEraseFromParent(load);
}

static void narrow_in(LLVMBuilderRef b, LLVMBasicBlockRef block)
{
    LLVMValueRef next;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
        LLVMValueRef trunc = LLVMIsALoadInst(i) ? find_truncation(i) : NULL;
        next = LLVMGetNextInstruction(i);
        while (trunc && (next == trunc || next == LLVMGetOperand(trunc, 0)))
            next = LLVMGetNextInstruction(next);
        if (trunc)
            narrow(b, i, trunc);
    }
}

void ompjit__narrow_loads(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            narrow_in(b, block);
    LLVMDisposeBuilder(b);
}
