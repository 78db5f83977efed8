/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's GPU code puts a loop round a critical section, in which the threads
 * of a warp take turns (frontend/describe/critical_turns.c): a warp that waits
 * for a lock which one of its own threads holds would wait for ever. On the
 * host a thread that waits lets others run, so one round is enough, the
 * caller's turn.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "frontend/describe/describe.h"
#include "passes/execution/execution.h"

static const char number_name[] = "__kmpc_get_hardware_thread_id_in_block";
static const char mask_name[] = "__kmpc_warp_active_thread_mask";
static const char sync_name[] = "__kmpc_syncwarp";

static bool calls(LLVMValueRef v, const char *name)
{
    size_t n;
    LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && !strcmp(LLVMGetValueName2(f, &n), name);
}

/* `turn < threads` becomes `turn < 1`, and `me == turn` true. */
static void drop_turn(LLVMValueRef compare, LLVMValueRef limit)
{
    LLVMValueRef width = LLVMGetOperand(limit, 1);
    LLVMSetOperand(limit, 1, LLVMConstInt(LLVMTypeOf(width), 1, 0));
    LLVMReplaceAllUsesWith(compare,
                           LLVMConstInt(LLVMTypeOf(compare), 1, 0));
}

/* The warp need not come together again: the mask has no other use. */
static void drop_syncs(LLVMValueRef mask)
{
    LLVMUseRef next;
    for (LLVMUseRef u = LLVMGetFirstUse(mask); u; u = next) {
        next = LLVMGetNextUse(u);
        LLVMValueRef call = LLVMGetUser(u);
        if (calls(call, sync_name) && LLVMGetOperand(call, 0) == mask)
            LLVMInstructionEraseFromParent(call);
    }
}

/* The call for the warp's mask right before that for the thread's number; NULL:
 * there is none. */
static LLVMValueRef mask_before(LLVMValueRef number)
{
    LLVMValueRef before = LLVMGetPreviousInstruction(number);
    return before && calls(before, mask_name) ? before : NULL;
}

void ompjit__drop_turns(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, number_name);
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef number = LLVMGetUser(u);
        LLVMUseRef its =
            calls(number, number_name) ? LLVMGetFirstUse(number) : NULL;
        LLVMValueRef limit = its && !LLVMGetNextUse(its)
                                 ? ompjit__turn_limit(LLVMGetUser(its))
                                 : NULL;
        if (!limit)
            continue;
        drop_turn(LLVMGetUser(its), limit);
        if (mask_before(number))
            drop_syncs(mask_before(number));
    }
}
