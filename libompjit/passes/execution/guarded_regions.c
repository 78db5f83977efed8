/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Adds a barrier before each guarded region. When openmp-opt makes a generic
 * kernel SPMD, all threads of a team run its sequential part. It guards code
 * with effects, so that thread 0 alone runs it:
 *
 *     tid = hardware_thread_id()
 *     if (tid == 0) { store ... }       the guarded region
 *     barrier_simple_spmd(ident, tid)
 *
 * The barrier behind the region keeps threads from reading too early. Nothing
 * keeps thread 0 from storing too early: in a loop it may overwrite a variable
 * that the others have still to read. The barrier added here stands between
 * their loads and the region. openmp-opt, when it runs again, removes those
 * before which nothing is loaded.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/execution/execution.h"

static const char thread_id[] = "__kmpc_get_hardware_thread_id_in_block";
static const char barrier[] = "__kmpc_barrier_simple_spmd";

enum { BARRIER_ARGS = 2, BARRIER_THREAD = 1 };

/* The barrier behind the region that a test of the thread's number guards;
 * NULL: it guards none. */
static LLVMValueRef find_barrier(LLVMValueRef tid, LLVMValueRef f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(tid); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f &&
            LLVMGetNumArgOperands(call) == BARRIER_ARGS &&
            LLVMGetOperand(call, BARRIER_THREAD) == tid)
            return call;
    }
    return NULL;
}

/* Adds a copy of the barrier `like` behind the call for the thread's number.
 * All threads make that call, so all meet at the copy, in the same order. */
static void add_barrier(LLVMBuilderRef b, LLVMValueRef tid, LLVMValueRef like)
{
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(tid));
    LLVMValueRef copy = LLVMInstructionClone(like);
    LLVMInsertIntoBuilder(b, copy);
}

void ompjit__order_guarded_regions(LLVMModuleRef m)
{
    LLVMValueRef ask = LLVMGetNamedFunction(m, thread_id);
    LLVMValueRef f = LLVMGetNamedFunction(m, barrier);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMUseRef u = ask && f ? LLVMGetFirstUse(ask) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef tid = LLVMGetUser(u);
        LLVMValueRef behind =
            LLVMIsACallInst(tid) && LLVMGetCalledValue(tid) == ask
                ? find_barrier(tid, f)
                : NULL;
        if (behind)
            add_barrier(b, tid, behind);
    }
    LLVMDisposeBuilder(b);
}
