/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls through pointers that may have come from the host. clang 22 registers
 * the functions of `declare target indirect` and calls what a pointer says;
 * here every such call asks the runtime first, which knows the device's
 * function for the host's. Only in units that have such functions.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>

#include "passes/passes.h"
#include "abi/offload.h"

static const char lookup[] = "__llvm_omp_indirect_call_lookup";

static LLVMValueRef lookup_function(LLVMModuleRef m)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(m), 0);
    LLVMValueRef f = LLVMGetNamedFunction(m, lookup);
    return f ? f
             : LLVMAddFunction(m, lookup,
                               LLVMFunctionType(pointer, &pointer, 1, 0));
}

/* A call of what is no constant. The address of a function that stands in the
 * code is the device's own. */
static bool is_indirect(LLVMValueRef instruction)
{
    if (!LLVMIsACallInst(instruction))
        return false;
    LLVMValueRef called = LLVMGetCalledValue(instruction);
    return !LLVMIsAConstant(called) && !LLVMIsAInlineAsm(called);
}

/* A call's last operand is what it calls. */
static void translate(LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef f)
{
    LLVMValueRef pointer = LLVMGetCalledValue(call);
    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef here = LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f,
                                       &pointer, 1, "");
    LLVMSetInstDebugLocation(b, here);
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, here);
}

static void translate_calls(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    LLVMValueRef to = lookup_function(m);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
                 i = LLVMGetNextInstruction(i))
                if (is_indirect(i))
                    translate(b, i, to);
    LLVMDisposeBuilder(b);
}

void ompjit__translate_calls(LLVMModuleRef m, const ompjit__unit *unit)
{
    bool any = false;
    for (unsigned i = 0; i < unit->nglobals; i++) {
        if (!(unit->globals[i].flags & OMPJIT__ENTRY_INDIRECT))
            continue;
        LLVMValueRef g = LLVMGetNamedGlobal(m, unit->globals[i].symbol);
        if (g) /* a variable to the host device, which finds it by name */
            LLVMSetGlobalConstant(g, 0);
        any = true;
    }
    if (any)
        translate_calls(m);
}
