/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds device code that is simplified in the same way for all GPUs. What LLVM
 * asks about an architecture before it generates code is the number that
 * __nvvm_reflect("__CUDA_ARCH") stands for, and, for its costs, which numbers
 * and vectors of numbers have instructions of their own.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/gpu/gpu.h"

/* The text that a call of __nvvm_reflect is given; NULL: unknown. */
static const char *asked(LLVMValueRef call)
{
    LLVMValueRef text = LLVMIsACallInst(call) && LLVMGetNumArgOperands(call)
                            ? LLVMGetOperand(call, 0)
                            : NULL;
    LLVMValueRef value = text && LLVMIsAGlobalVariable(text)
                             ? LLVMGetInitializer(text)
                             : NULL;
    size_t n;
    return value && LLVMIsAConstantDataSequential(value) &&
                   LLVMIsConstantString(value)
               ? LLVMGetAsString(value, &n)
               : NULL;
}

/* Does a call of the function ask for the number? Other texts stand for settings
 * of the module. */
static bool asks_architecture(LLVMModuleRef m, const char *name)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL;
    for (; u; u = LLVMGetNextUse(u)) {
        const char *text = asked(LLVMGetUser(u));
        if (!text || !strcmp(text, "__CUDA_ARCH"))
            return true;
    }
    return false;
}

/* bfloat is calculated with since sm_90, pairs of floats since sm_100. */
static bool has_own_forms(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMBFloatTypeKind: return true;
    case LLVMVectorTypeKind:
        switch (LLVMGetTypeKind(LLVMGetElementType(type))) {
        case LLVMBFloatTypeKind:
        case LLVMHalfTypeKind:
        case LLVMFloatTypeKind: return true;
        default: return false;
        }
    default: return false;
    }
}

static bool is_for_one(LLVMValueRef i)
{
    if (has_own_forms(LLVMTypeOf(i)))
        return true;
    for (int k = 0; k < LLVMGetNumOperands(i); k++)
        if (has_own_forms(LLVMTypeOf(LLVMGetOperand(i, (unsigned)k))))
            return true;
    return false;
}

bool ompjit__is_for_any_gpu(LLVMModuleRef m)
{
    if (asks_architecture(m, "__nvvm_reflect") ||
        asks_architecture(m, "llvm.nvvm.reflect"))
        return false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
                 i = LLVMGetNextInstruction(i))
                if (is_for_one(i))
                    return false;
    return true;
}
