/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Team-shared variables of the device runtime that hold one constant: what a
 * kernel never changes. They have no value before the first store, so every
 * load may have the constant. LLVM does not see that on a GPU, where shared
 * memory cannot have an initializer, unless the store comes before the load on
 * every path; that of one thread does not.
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

/* The value that all stores of the variable store; NULL: not one constant, or
 * it is also used otherwise than loaded and stored. */
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

/* Loads become the constant; stores of it go, as nobody reads them. */
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
