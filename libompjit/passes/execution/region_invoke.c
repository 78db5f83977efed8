/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Defines the function by which the runtime calls outlined parallel regions,
 * with one case for each number of arguments that occurs in the module. The
 * runtime's own definition needs a case for every possible number, and is
 * inlined at each region.
 */
#include <llvm-c/Core.h>

#include "passes/execution/execution.h"

/* REGION and NARGS are operands of __kmpc_parallel_60. MAX_ARGS is the most
 * arguments that a region may have here. The numbers of arguments that occur
 * are the bits of a 64-bit `set`, and a bool `max` for MAX_ARGS itself. */
enum { REGION = 5, NARGS = 8, MAX_ARGS = 64 };

/* Collects the numbers of arguments. False: one is not constant, or the
 * function is not only called. */
static bool collect(LLVMValueRef parallel, uint64_t *set, bool *max)
{
    for (LLVMUseRef u = LLVMGetFirstUse(parallel); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != parallel)
            return false;
        LLVMValueRef n = LLVMGetOperand(call, NARGS);
        if (!LLVMIsAConstantInt(n) || LLVMConstIntGetZExtValue(n) > MAX_ARGS)
            return false;
        uint64_t count = LLVMConstIntGetZExtValue(n);
        if (count == MAX_ARGS)
            *max = true;
        else
            *set |= UINT64_C(1) << count;
    }
    return true;
}

static void add_attribute(LLVMValueRef f, const char *name, size_t length)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, length);
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(LLVMGetTypeContext(LLVMTypeOf(f)), kind, 0));
}

/* The function type by which regions with n arguments are called. It is the
 * regions' own type if all of them have the same: then LLVM inlines the call
 * without casts of arguments. Else each argument is a pointer, which is as
 * wide. */
static LLVMTypeRef region_type(LLVMValueRef parallel, unsigned n)
{
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(parallel));
    LLVMTypeRef types[MAX_ARGS + 2], found = NULL;
    for (unsigned i = 0; i < n + 2; i++)
        types[i] = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef pointers =
        LLVMFunctionType(LLVMVoidTypeInContext(c), types, n + 2, 0);
    for (LLVMUseRef u = LLVMGetFirstUse(parallel); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        LLVMValueRef region = LLVMGetOperand(call, REGION);
        if (LLVMConstIntGetZExtValue(LLVMGetOperand(call, NARGS)) != n)
            continue;
        if (!LLVMIsAFunction(region))
            return pointers;
        LLVMTypeRef type = LLVMGlobalGetValueType(region);
        if ((found && found != type) ||
            LLVMCountParamTypes(type) != n + 2)
            return pointers;
        found = type;
    }
    return found ? found : pointers;
}

/* case n: fn(gtid, zero, args[0], ..., args[n - 1]); return; */
static LLVMBasicBlockRef add_case(LLVMValueRef invoke, LLVMBuilderRef b,
                                  LLVMTypeRef type, unsigned n)
{
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(invoke));
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef types[MAX_ARGS + 2];
    LLVMValueRef values[MAX_ARGS + 2];
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(c, invoke, "");
    LLVMPositionBuilderAtEnd(b, block);
    LLVMGetParamTypes(type, types);
    for (unsigned i = 0; i < n + 2; i++) {
        if (i < 2) {
            values[i] = LLVMGetParam(invoke, i + 1);
            continue;
        }
        LLVMValueRef at = LLVMConstInt(LLVMInt64TypeInContext(c), i - 2, 0);
        LLVMValueRef slot = LLVMBuildInBoundsGEP2(
            b, pointer, LLVMGetParam(invoke, 3), &at, 1, "");
        values[i] = LLVMBuildLoad2(b, types[i], slot, "");
    }
    LLVMBuildCall2(b, type, LLVMGetParam(invoke, 0), values, n + 2, "");
    LLVMBuildRetVoid(b);
    return block;
}

/* void ompjit_invoke(ptr fn, ptr gtid, ptr zero, ptr args, i64 nargs): a switch
 * over the numbers that occur, which is inlined where the runtime calls it, and
 * folds where nargs is constant. Convergent, as a region may have barriers. */
static void define(LLVMModuleRef m, LLVMValueRef parallel, uint64_t set,
                   bool max)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMTypeRef params[] = {pointer, pointer, pointer, pointer, i64};
    LLVMValueRef invoke = LLVMAddFunction(
        m, "ompjit_invoke",
        LLVMFunctionType(LLVMVoidTypeInContext(c), params, 5, 0));
    add_attribute(invoke, "alwaysinline", 12);
    add_attribute(invoke, "convergent", 10);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, invoke, "");
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(c, invoke, "");
    LLVMPositionBuilderAtEnd(b, other);
    LLVMBuildUnreachable(b); /* all numbers that occur have a case */
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef choice = LLVMBuildSwitch(b, LLVMGetParam(invoke, 4), other,
                                          (unsigned)__builtin_popcountll(set));
    for (unsigned n = 0; n <= MAX_ARGS; n++)
        if (n == MAX_ARGS ? max : set >> n & 1)
            LLVMAddCase(choice, LLVMConstInt(i64, n, 0),
                        add_case(invoke, b, region_type(parallel, n), n));
    LLVMDisposeBuilder(b);
}

void ompjit__define_invoke(LLVMModuleRef m)
{
    LLVMValueRef parallel = LLVMGetNamedFunction(m, "__kmpc_parallel_60");
    uint64_t set = 0;
    bool max = false;
    if (!parallel || !collect(parallel, &set, &max))
        return;
    define(m, parallel, set, max);
}
