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
 * Each thread gets one turn, in any number of threads: such a loop does not
 * observe them (observe.c), and the host device needs none
 * (passes/execution/critical_turns.c).
 *
 * Only what clang writes before it is optimized is recognized.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "frontend/describe/describe.h"

static const char number_name[] = "__kmpc_get_hardware_thread_id_in_block";
static const char width_name[] = "__kmpc_get_hardware_num_threads_in_block";

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

LLVMValueRef ompjit__turn_limit(LLVMValueRef compare)
{
    bool is_equal = LLVMIsAICmpInst(compare) &&
                    LLVMGetICmpPredicate(compare) == LLVMIntEQ &&
                    calls(LLVMGetOperand(compare, 0), number_name);
    LLVMValueRef counter =
        is_equal ? loaded_from(LLVMGetOperand(compare, 1)) : NULL;
    return counter ? find_limit(counter) : NULL;
}

bool ompjit__limits_turns(LLVMValueRef compare)
{
    LLVMValueRef counter = counter_of_limit(compare);
    for (LLVMUseRef u = counter ? LLVMGetFirstUse(counter) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsALoadInst(load) ? LLVMGetFirstUse(load) : NULL;
        for (; its; its = LLVMGetNextUse(its))
            if (ompjit__turn_limit(LLVMGetUser(its)))
                return true;
    }
    return false;
}
