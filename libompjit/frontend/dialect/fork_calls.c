/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Parallel regions in the form of host code, in device code:
 *
 *   call void (ptr, i32, ptr, ...) @__kmpc_fork_call(
 *       ptr %loc, i32 2, ptr @region, ptr %x, ptr %y)
 *   call void @__kmpc_fork_call_if(ptr %loc, i32 1, ptr @region, i32 %if,
 *                                  ptr %x)
 *
 * become calls of __kmpc_parallel_60 with a list of the arguments. Requires
 * checked calls (table/llvm/callback.c): arguments have 64 bits.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "frontend/dialect/dialect.h"

/* Operands of both, and what follows them. */
enum { LOC, COUNT, REGION, REST };

/* The module, a builder in it, and the types of its calls. */
struct builder {
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef nothing, pointer, i32, i64;
};

static LLVMValueRef runtime_function(const struct builder *w, const char *name,
                                     LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(w->m, name);
    return f ? f : LLVMAddFunction(w->m, name, type);
}

/* A list with the operands from `first` on, in the function's frame. */
static LLVMValueRef list_of(const struct builder *w, LLVMValueRef call,
                            unsigned first, unsigned n)
{
    LLVMValueRef function =
        LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    if (!n)
        return LLVMConstNull(w->pointer);
    LLVMPositionBuilderBefore(w->b, LLVMGetFirstInstruction(entry));
    LLVMValueRef list =
        LLVMBuildAlloca(w->b, LLVMArrayType2(w->pointer, n), "");
    LLVMPositionBuilderBefore(w->b, call);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef index = LLVMConstInt(w->i64, i, false);
        LLVMBuildStore(
            w->b, LLVMGetOperand(call, first + i),
            LLVMBuildInBoundsGEP2(w->b, w->pointer, list, &index, 1, ""));
    }
    return list;
}

static void lower(const struct builder *w, LLVMValueRef call, bool conditional)
{
    unsigned first = REST + conditional;
    unsigned n = LLVMGetNumArgOperands(call) - first;
    LLVMTypeRef params[] = {w->pointer, w->i32,     w->i32,     w->i32,
                            w->i32,     w->pointer, w->pointer, w->pointer,
                            w->i64,     w->i32};
    LLVMTypeRef number_type = LLVMFunctionType(w->i32, params, 1, false);
    LLVMTypeRef type = LLVMFunctionType(w->nothing, params, 10, false);
    LLVMValueRef list = list_of(w, call, first, n);
    LLVMPositionBuilderBefore(w->b, call);
    LLVMSetCurrentDebugLocation2(w->b, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef loc = LLVMGetOperand(call, LOC);
    LLVMValueRef any = LLVMConstInt(w->i32, UINT32_MAX, true);
    LLVMValueRef number = LLVMBuildCall2(
        w->b, number_type,
        runtime_function(w, "__kmpc_global_thread_num", number_type), &loc, 1,
        "");
    LLVMValueRef args[] = {
        loc,
        number,
        conditional ? LLVMGetOperand(call, REST)
                    : LLVMConstInt(w->i32, 1, false),
        any, /* threads */
        any, /* binding */
        LLVMGetOperand(call, REGION),
        LLVMConstNull(w->pointer), /* the workers' function: region_wrapper.c */
        list,
        LLVMConstInt(w->i64, n, false),
        LLVMConstInt(w->i32, 0, false),
    };
    LLVMBuildCall2(w->b, type, runtime_function(w, "__kmpc_parallel_60", type),
                   args, 10, "");
    LLVMInstructionEraseFromParent(call);
}

static void lower_all(const struct builder *w, const char *name,
                      bool conditional)
{
    LLVMValueRef f = LLVMGetNamedFunction(w->m, name);
    LLVMUseRef next, u = f ? LLVMGetFirstUse(f) : NULL;
    for (; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == f &&
            LLVMGetNumArgOperands(user) >= REST + (unsigned)conditional)
            lower(w, user, conditional);
    }
    if (f && !LLVMGetFirstUse(f) && LLVMIsDeclaration(f))
        LLVMDeleteFunction(f);
}

void ompjit__lower_forks(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct builder w = {
        .m = m,
        .b = LLVMCreateBuilderInContext(c),
        .nothing = LLVMVoidTypeInContext(c),
        .pointer = LLVMPointerTypeInContext(c, 0),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
    };
    lower_all(&w, "__kmpc_fork_call", false);
    lower_all(&w, "__kmpc_fork_call_if", true);
    LLVMDisposeBuilder(w.b);
}
