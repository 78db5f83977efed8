/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Conversions between integers of more than 64 bits and floating numbers, which
 * NVPTX cannot lower, as calls of the runtime's functions (runtime-bc/libc/wide.c).
 * These take 128 bits: __int128; a _BitInt that is narrower is extended.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "passes/gpu/gpu.h"

enum { REGISTER = 64, WIDE = 128 }; /* bits */

static bool is_wide(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) > REGISTER &&
           LLVMGetIntTypeWidth(type) <= WIDE;
}

/* NULL: no such conversion. */
static const char *function_for(LLVMOpcode opcode, bool single)
{
    switch (opcode) {
    case LLVMSIToFP: return single ? "__floattisf" : "__floattidf";
    case LLVMUIToFP: return single ? "__floatuntisf" : "__floatuntidf";
    case LLVMFPToSI: return single ? "__fixsfti" : "__fixdfti";
    case LLVMFPToUI: return single ? "__fixunssfti" : "__fixunsdfti";
    default: return NULL;
    }
}

static LLVMValueRef declare(LLVMModuleRef m, const char *name, LLVMTypeRef to,
                            LLVMTypeRef from)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    return f ? f
             : LLVMAddFunction(m, name, LLVMFunctionType(to, &from, 1, false));
}

/* A number of half precision goes by way of a float. A result that does not fit
 * into a narrower integer is poison, as it is without the way by 128 bits. */
static void replace(LLVMModuleRef m, LLVMValueRef i)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef wide = LLVMIntTypeInContext(c, WIDE);
    LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
    LLVMValueRef value = LLVMGetOperand(i, 0);
    LLVMTypeRef from = LLVMTypeOf(value), to = LLVMTypeOf(i);
    bool makes_float = is_wide(from);
    LLVMTypeRef number = makes_float ? to : from;
    LLVMTypeKind kind = LLVMGetTypeKind(number);
    LLVMTypeRef call_type = kind == LLVMDoubleTypeKind
                                ? number
                                : LLVMFloatTypeInContext(c);
    if (kind != LLVMDoubleTypeKind && kind != LLVMFloatTypeKind &&
        kind != LLVMHalfTypeKind && kind != LLVMBFloatTypeKind)
        return;
    LLVMValueRef f = declare(
        m, function_for(opcode, kind != LLVMDoubleTypeKind),
        makes_float ? call_type : wide, makes_float ? wide : call_type);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, i);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(i));
    value = makes_float ? LLVMBuildIntCast2(b, value, wide,
                                            opcode == LLVMSIToFP, "")
                        : LLVMBuildFPCast(b, value, call_type, "");
    value = LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, &value, 1, "");
    value = makes_float ? LLVMBuildFPCast(b, value, to, "")
                        : LLVMBuildIntCast2(b, value, to, false, "");
    LLVMDisposeBuilder(b);
    LLVMReplaceAllUsesWith(i, value);
    LLVMInstructionEraseFromParent(i);
}

void ompjit__prepare_wide(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb;
             bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i;
                 i = next) {
                next = LLVMGetNextInstruction(i);
                if (function_for(LLVMGetInstructionOpcode(i), false) &&
                    (is_wide(LLVMTypeOf(i)) ||
                     is_wide(LLVMTypeOf(LLVMGetOperand(i, 0)))))
                    replace(m, i);
            }
}
