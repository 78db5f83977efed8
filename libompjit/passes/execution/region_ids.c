/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Replaces addresses of outlined regions by numbers. In a generic kernel the
 * main thread tells its workers what to run by the address of a region's
 * wrapper function; after openmp-opt the workers compare this address with
 * those that they know and call the function by its name. A function whose
 * address is taken costs: with all that it calls it is compiled for unknown
 * callers, saves registers on the stack, and stays when all of its calls have
 * been inlined.
 *
 * A number is as good as an address that is only compared, with addresses of
 * other regions or with null (by which the main thread tells its workers to
 * end, so numbers begin with 1). Addresses are only compared if no call in the
 * module goes through a pointer that could be one of them.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/execution/execution.h"

/* The type of clang's wrappers: void (i16 level, i32 thread). */
static bool is_wrapper_type(LLVMTypeRef type)
{
    LLVMTypeRef params[2];
    if (LLVMIsFunctionVarArg(type) || LLVMCountParamTypes(type) != 2 ||
        LLVMGetTypeKind(LLVMGetReturnType(type)) != LLVMVoidTypeKind)
        return false;
    LLVMGetParamTypes(type, params);
    LLVMContextRef context = LLVMGetTypeContext(type);
    return params[0] == LLVMInt16TypeInContext(context) &&
           params[1] == LLVMInt32TypeInContext(context);
}

static bool is_wrapper(LLVMValueRef f)
{
    size_t n;
    return LLVMGetLinkage(f) == LLVMInternalLinkage && !LLVMIsDeclaration(f) &&
           strstr(LLVMGetValueName2(f, &n), "_omp_outlined_wrapper") &&
           is_wrapper_type(LLVMGlobalGetValueType(f));
}

/* Is it a call through a pointer that may be a wrapper's address? */
static bool may_call_one(LLVMValueRef instruction)
{
    if (!LLVMIsACallInst(instruction))
        return false;
    LLVMValueRef called = LLVMGetCalledValue(instruction);
    LLVMTypeRef type = LLVMGetCalledFunctionType(instruction);
    return !LLVMIsAFunction(called) && !LLVMIsAInlineAsm(called) &&
           (LLVMIsFunctionVarArg(type) || is_wrapper_type(type));
}

static bool calls_pointers(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                if (may_call_one(i))
                    return true;
    return false;
}

/* Writes `number` where the function is used and not called. */
static void replace_address(LLVMValueRef f, LLVMValueRef number)
{
    LLVMUseRef next;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        while (next && LLVMGetUser(next) == user)
            next = LLVMGetNextUse(next);
        if (!LLVMIsAInstruction(user))
            continue;
        int n = LLVMGetNumOperands(user) - (LLVMIsACallInst(user) != NULL);
        for (int i = 0; i < n; i++)
            if (LLVMGetOperand(user, (unsigned)i) == f)
                LLVMSetOperand(user, (unsigned)i, number);
    }
}

bool ompjit__number_regions(LLVMModuleRef m)
{
    LLVMTypeRef word = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    unsigned regions = 0;
    LLVMValueRef next;
    if (calls_pointers(m))
        return false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = next) {
        next = LLVMGetNextFunction(f);
        if (!is_wrapper(f))
            continue;
        LLVMValueRef number = LLVMConstInt(word, ++regions, false);
        replace_address(f, LLVMConstIntToPtr(number, LLVMTypeOf(f)));
        if (!LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
    return regions;
}
