/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The loop that clang puts round a critical section for a GPU, where the
 * threads of a warp must not wait for each other's lock:
 *
 *     mask = __kmpc_warp_active_thread_mask();
 *     me = __kmpc_get_hardware_thread_id_in_block();
 *     threads = __kmpc_get_hardware_num_threads_in_block();
 *     for (turn = 0; turn < threads; turn++) {
 *         if (me == turn) { __kmpc_critical(...); ... }
 *         __kmpc_syncwarp(mask);
 *     }
 *
 * Each thread gets one turn. On the host a thread that waits for a lock lets
 * others run, and the loop has one round, which is the caller's turn.
 *
 * Only what clang writes before it is optimized is recognized.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/passes.h"

static const char number_name[] = "__kmpc_get_hardware_thread_id_in_block";
static const char width_name[] = "__kmpc_get_hardware_num_threads_in_block";
static const char mask_name[] = "__kmpc_warp_active_thread_mask";
static const char sync_name[] = "__kmpc_syncwarp";

static bool calls(LLVMValueRef v, const char *name)
{
    size_t n;
    LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && !strcmp(LLVMGetValueName2(f, &n), name);
}

/* The variable that v is loaded from; else NULL. */
static LLVMValueRef loaded_from(LLVMValueRef v)
{
    LLVMValueRef from = LLVMIsALoadInst(v) ? LLVMGetOperand(v, 0) : NULL;
    return from && LLVMIsAAllocaInst(from) ? from : NULL;
}

/* The variable in `turn < width`; else NULL. */
static LLVMValueRef counter_of_limit(LLVMValueRef compare)
{
    bool is_limit = LLVMIsAICmpInst(compare) &&
                    LLVMGetICmpPredicate(compare) == LLVMIntSLT &&
                    calls(LLVMGetOperand(compare, 1), width_name);
    return is_limit ? loaded_from(LLVMGetOperand(compare, 0)) : NULL;
}

static LLVMValueRef find_limit(LLVMValueRef counter)
{
    for (LLVMUseRef u = LLVMGetFirstUse(counter); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsALoadInst(load) ? LLVMGetFirstUse(load) : NULL;
        for (; its; its = LLVMGetNextUse(its))
            if (counter_of_limit(LLVMGetUser(its)) == counter)
                return LLVMGetUser(its);
    }
    return NULL;
}

bool ompjit__is_turn(LLVMValueRef compare)
{
    bool is_equal = LLVMIsAICmpInst(compare) &&
                    LLVMGetICmpPredicate(compare) == LLVMIntEQ &&
                    calls(LLVMGetOperand(compare, 0), number_name);
    LLVMValueRef counter =
        is_equal ? loaded_from(LLVMGetOperand(compare, 1)) : NULL;
    return counter && find_limit(counter);
}

bool ompjit__limits_turns(LLVMValueRef compare)
{
    LLVMValueRef counter = counter_of_limit(compare);
    for (LLVMUseRef u = counter ? LLVMGetFirstUse(counter) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsALoadInst(load) ? LLVMGetFirstUse(load) : NULL;
        for (; its; its = LLVMGetNextUse(its))
            if (ompjit__is_turn(LLVMGetUser(its)))
                return true;
    }
    return false;
}

/* ------------------------------------------------------------ on the host */

static void drop_turn(LLVMValueRef compare)
{
    LLVMValueRef limit =
        find_limit(loaded_from(LLVMGetOperand(compare, 1)));
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

/* The mask that is asked for before the number. */
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
        if (!its || LLVMGetNextUse(its) || !ompjit__is_turn(LLVMGetUser(its)))
            continue;
        drop_turn(LLVMGetUser(its));
        if (mask_before(number))
            drop_syncs(mask_before(number));
    }
}
