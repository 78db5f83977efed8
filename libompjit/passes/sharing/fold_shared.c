/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Replaces team-shared variables of the device runtime by a constant, if every
 * store to them stores the same one. They are undefined before the first store,
 * so every load may have that constant. LLVM does this only if the store comes
 * before the load on every path, which a store by one of the threads does not;
 * an initializer, which would help LLVM, shared memory cannot have.
 */
#include <llvm-c/Core.h>

#include "passes/sharing/sharing.h"

enum { SHARED_SPACE = 3 };

/* A volatile or atomic access stays one: others may wait for it. */
static bool is_simple(LLVMValueRef access)
{
    return !LLVMGetVolatile(access) &&
           LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

/* The constant that all stores to the variable store; NULL: there is not
 * exactly one, or the variable has other uses than plain loads and stores. */
static LLVMValueRef only_constant(LLVMValueRef g)
{
    LLVMValueRef constant = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(g); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMValueRef stored =
            LLVMIsAStoreInst(user) ? LLVMGetOperand(user, 0) : NULL;
        if (!stored && !LLVMIsALoadInst(user))
            return NULL;
        if (!is_simple(user) || stored == g ||
            LLVMTypeOf(stored ? stored : user) != LLVMGlobalGetValueType(g))
            return NULL;
        if (stored && (!LLVMIsConstant(stored) ||
                       (constant && stored != constant)))
            return NULL;
        if (stored)
            constant = stored;
    }
    return constant;
}

/* Replaces loads by the constant, and erases the stores and the variable. */
static void replace_by(LLVMValueRef g, LLVMValueRef constant)
{
    LLVMUseRef u;
    while ((u = LLVMGetFirstUse(g))) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user))
            LLVMReplaceAllUsesWith(user, constant);
        LLVMInstructionEraseFromParent(user);
    }
    LLVMDeleteGlobal(g);
}

bool ompjit__fold_shared(LLVMModuleRef m)
{
    bool folded = false;
    LLVMValueRef next;
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = next) {
        next = LLVMGetNextGlobal(g);
        LLVMValueRef constant = NULL;
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == SHARED_SPACE &&
            LLVMGetLinkage(g) == LLVMInternalLinkage &&
            LLVMIsUndef(LLVMGetInitializer(g)))
            constant = only_constant(g);
        if (!constant)
            continue;
        replace_by(g, constant);
        folded = true;
    }
    return folded;
}
