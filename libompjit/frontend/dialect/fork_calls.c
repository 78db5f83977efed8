/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Parallel regions in the form of host code, in device code:
 *
 *   call void (ptr, i32, ptr, ...) @__kmpc_fork_call(
 *       ptr %loc, i32 2, ptr @region, ptr %x, ptr %y)
 *   call void @__kmpc_fork_call_if(ptr %loc, i32 1, ptr @region, i32 %if,
 *                                  ptr %x)
 *
 * become calls of __kmpc_parallel_60 with a list of the arguments. Teams
 * regions in that form become calls of their functions: each team has one initial
 * thread, which runs the region.
 *
 *   call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(
 *       ptr %loc, i32 2, ptr @region, ptr %x, ptr %y)
 *   -> call void @region(ptr %thread, ptr %zero, ptr %x, ptr %y)
 *
 * Requires checked calls (table/llvm/callback.c): arguments have 64 bits.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "frontend/dialect/dialect.h"

/* Operands of both, and what follows them. */
enum { LOC, COUNT, REGION, REST };

/* A region has two of its own, and those that callback.c takes. */
enum { MOST_ARGUMENTS = 2 + 1024 };

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

/* The caller's thread number; the builder stands before the call. */
static LLVMValueRef thread_number(const struct builder *w, LLVMValueRef loc)
{
    LLVMTypeRef pointer = w->pointer;
    LLVMTypeRef type = LLVMFunctionType(w->i32, &pointer, 1, false);
    return LLVMBuildCall2(
        w->b, type, runtime_function(w, "__kmpc_global_thread_num", type),
        &loc, 1, "");
}

/* A parallel region; REGION is followed by its condition, or by its first
 * argument. */
static void lower_parallel(const struct builder *w, LLVMValueRef call,
                           bool conditional)
{
    unsigned first = REST + conditional;
    unsigned n = LLVMGetNumArgOperands(call) - first;
    LLVMTypeRef params[] = {w->pointer, w->i32,     w->i32,     w->i32,
                            w->i32,     w->pointer, w->pointer, w->pointer,
                            w->i64,     w->i32};
    LLVMTypeRef type = LLVMFunctionType(w->nothing, params, 10, false);
    LLVMValueRef list = list_of(w, call, first, n);
    LLVMPositionBuilderBefore(w->b, call);
    LLVMSetCurrentDebugLocation2(w->b, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef loc = LLVMGetOperand(call, LOC);
    LLVMValueRef any = LLVMConstInt(w->i32, UINT32_MAX, true);
    LLVMValueRef args[] = {
        loc,
        thread_number(w, loc),
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
}

static void lower_fork(const struct builder *w, LLVMValueRef call)
{
    lower_parallel(w, call, false);
}

static void lower_fork_if(const struct builder *w, LLVMValueRef call)
{
    lower_parallel(w, call, true);
}

/* The type of a function (ptr, ptr, the operands from REST on). */
static LLVMTypeRef region_type(const struct builder *w, LLVMValueRef call)
{
    LLVMTypeRef params[MOST_ARGUMENTS] = {w->pointer, w->pointer};
    unsigned n = LLVMGetNumArgOperands(call), k = 2;
    for (unsigned i = REST; i < n && k < MOST_ARGUMENTS; i++)
        params[k++] = LLVMTypeOf(LLVMGetOperand(call, i));
    return LLVMFunctionType(w->nothing, params, k, false);
}

/* A local of the call's function, that holds the number at the call. */
static LLVMValueRef number_in_memory(const struct builder *w,
                                     LLVMValueRef call, LLVMValueRef number)
{
    LLVMValueRef function =
        LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    LLVMPositionBuilderBefore(
        w->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    LLVMValueRef local = LLVMBuildAlloca(w->b, w->i32, "");
    LLVMPositionBuilderBefore(w->b, call);
    LLVMBuildStore(w->b, number, local);
    return local;
}

static void lower_teams(const struct builder *w, LLVMValueRef call)
{
    LLVMValueRef args[MOST_ARGUMENTS], loc = LLVMGetOperand(call, LOC);
    unsigned n = LLVMGetNumArgOperands(call), k = 2;
    LLVMPositionBuilderBefore(w->b, call);
    LLVMSetCurrentDebugLocation2(w->b, LLVMInstructionGetDebugLoc(call));
    args[0] = number_in_memory(w, call, thread_number(w, loc));
    args[1] = number_in_memory(w, call, LLVMConstInt(w->i32, 0, false));
    for (unsigned i = REST; i < n && k < MOST_ARGUMENTS; i++)
        args[k++] = LLVMGetOperand(call, i);
    LLVMBuildCall2(w->b, region_type(w, call), LLVMGetOperand(call, REGION),
                   args, k, "");
}

/* Each call of the function by `lower`. */
static void lower_all(const struct builder *w, const char *name,
                      void (*lower)(const struct builder *, LLVMValueRef),
                      unsigned operands)
{
    LLVMValueRef f = LLVMGetNamedFunction(w->m, name);
    LLVMUseRef next, u = f ? LLVMGetFirstUse(f) : NULL;
    for (; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == f &&
            LLVMGetNumArgOperands(user) >= operands) {
            lower(w, user);
            LLVMInstructionEraseFromParent(user);
        }
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
    lower_all(&w, "__kmpc_fork_call", lower_fork, REST);
    lower_all(&w, "__kmpc_fork_call_if", lower_fork_if, REST + 1);
    lower_all(&w, "__kmpc_fork_teams", lower_teams, REST);
    LLVMDisposeBuilder(w.b);
}
