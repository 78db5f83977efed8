/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Moves variables of __kmpc_alloc_shared that only their own function accesses
 * to the thread's stack. In a generic kernel the main thread alone uses them,
 * and in one that becomes SPMD each thread computes its own, so that nothing
 * has to be guarded. Runs before openmp-opt, which would come to the same
 * result with several passes over the whole module.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#include "llvm/remarks.h"
#include "passes/sharing/sharing.h"

enum { ALIGN = 16 }; /* bytes: alignment of __kmpc_alloc_shared */

static bool is_free(LLVMValueRef call)
{
    size_t n;
    LLVMValueRef f = LLVMIsACallInst(call) ? LLVMGetCalledValue(call) : NULL;
    return f && LLVMIsAFunction(f) &&
           !strcmp(LLVMGetValueName2(f, &n), "__kmpc_free_shared");
}

/* Are all uses of the address loads, stores and frees, also through addresses
 * that are computed from it? */
static bool is_private(LLVMValueRef address)
{
    for (LLVMUseRef u = LLVMGetFirstUse(address); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) || is_free(user) ||
            (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != address))
            continue;
        if (!LLVMIsAGetElementPtrInst(user) || !is_private(user))
            return false;
    }
    return true;
}

/* Erases the calls that free the variable. */
static void drop_frees(LLVMValueRef variable)
{
    LLVMUseRef next;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (is_free(user))
            LLVMInstructionEraseFromParent(user);
    }
}

/* Replaces the allocation by a variable on the stack. */
static void move_to_stack(LLVMValueRef call, ompjit__buf *remarks)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(f));
    LLVMTypeRef type =
        LLVMArrayType2(LLVMInt8TypeInContext(c),
                       LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0)));
    char *name = ompjit__remark_variable(call);
    size_t n;
    ompjit__remark_at(remarks, call,
                      &(ompjit__remark){.id = OMPJIT__REMARK_OMPJIT101,
                                        .variable = name,
                                        .what = "The variable is each "
                                                "thread's own"});
    free(name);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
    LLVMValueRef local =
        LLVMBuildAlloca(b, type, LLVMGetValueName2(call, &n));
    LLVMSetAlignment(local, ALIGN);
    LLVMDisposeBuilder(b);
    drop_frees(call);
    LLVMReplaceAllUsesWith(call, local);
    LLVMInstructionEraseFromParent(call);
}

void ompjit__keep_private(LLVMModuleRef m, ompjit__buf *remarks)
{
    enum { MOST = 4096 }; /* bytes; larger ones are left to openmp-opt */
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    LLVMUseRef next;
    for (LLVMUseRef u = alloc ? LLVMGetFirstUse(alloc) : NULL; u; u = next) {
        LLVMValueRef call = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == alloc &&
            LLVMIsAConstantInt(LLVMGetOperand(call, 0)) &&
            LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0)) <= MOST &&
            is_private(call))
            move_to_stack(call, remarks);
    }
}
