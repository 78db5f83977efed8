/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Barriers of functions that are not told where they are called: clang's
 * functions that move the values of a reduction. Their thread number, which
 * holds a context, would be made from the team's state for the barrier alone;
 * without one the runtime asks the state for what a barrier needs.
 */
#include <llvm-c/Core.h>

#include "passes/execution/execution.h"

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
