/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's functions that move the values of a reduction have a barrier, for
 * which they call __kmpc_global_thread_num, since they get no thread number as
 * an argument. Computing that number from the team's state serves the barrier
 * alone. This pass passes 0 instead: the runtime then reads from the state only
 * what a barrier needs.
 */
#include <llvm-c/Core.h>

#include "passes/execution/execution.h"

/* Do only barriers use the thread's number? */
static bool for_barriers_only(LLVMValueRef number, LLVMValueRef barrier)
{
    for (LLVMUseRef u = LLVMGetFirstUse(number); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != barrier)
            return false;
    }
    return true;
}

void ompjit__barriers_without_number(LLVMModuleRef m)
{
    LLVMValueRef ask = LLVMGetNamedFunction(m, "__kmpc_global_thread_num");
    LLVMValueRef barrier = LLVMGetNamedFunction(m, "__kmpc_barrier");
    LLVMUseRef next;
    for (LLVMUseRef u = ask && barrier ? LLVMGetFirstUse(ask) : NULL; u;
         u = next) {
        next = LLVMGetNextUse(u);
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != ask ||
            !for_barriers_only(call, barrier))
            continue;
        LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), 0, 0));
        LLVMInstructionEraseFromParent(call);
    }
}
