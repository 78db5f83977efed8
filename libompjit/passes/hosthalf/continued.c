/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An input of `ompjit repl` that ran before it was optimized is compiled once
 * more (frontend/repl/brief.cc, continued.cc). The second module uses the
 * variables of the first. It has the functions in which loops of the first go
 * on, and its own loops do not count:
 *
 *   @x = global i32 1                            ->   @x = available_externally
 *   %enough = call i1 @ompjit.enough(i32 SIZE)   ->   i1 false
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "core/repl.h"
#include "passes/hosthalf/hosthalf.h"

static bool continues(LLVMValueRef f)
{
    static const char name[] = OMPJIT__REPL_CONTINUES;
    return LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, name,
                                         sizeof name - 1);
}

static void drop_calls(LLVMValueRef f)
{
    LLVMValueRef never = LLVMConstNull(
        LLVMInt1TypeInContext(LLVMGetModuleContext(LLVMGetGlobalParent(f))));
    for (LLVMUseRef use; (use = LLVMGetFirstUse(f)) != NULL;) {
        LLVMValueRef call = LLVMGetUser(use);
        LLVMReplaceAllUsesWith(call, never);
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(f);
}

/* Constants of the code are local, and llvm.global_ctors is appending. */
static bool is_of_program(LLVMValueRef v)
{
    const LLVMLinkage linkage = LLVMGetLinkage(v);
    return !LLVMIsDeclaration(v) && linkage != LLVMPrivateLinkage &&
           linkage != LLVMInternalLinkage && linkage != LLVMAppendingLinkage;
}

void ompjit__host_continue(LLVMModuleRef m)
{
    static const char shares[] = OMPJIT__REPL_SHARES;
    LLVMValueRef enough = LLVMGetNamedFunction(m, OMPJIT__REPL_ENOUGH);
    if (!LLVMGetNamedMetadata(m, shares, sizeof shares - 1))
        return;
    if (enough)
        drop_calls(enough);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (continues(f))
            LLVMSetLinkage(f, LLVMExternalLinkage);
    for (LLVMValueRef v = LLVMGetFirstGlobal(m); v; v = LLVMGetNextGlobal(v))
        if (is_of_program(v))
            LLVMSetLinkage(v, LLVMAvailableExternallyLinkage);
}
