/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Declares markers' functions and removes them again.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/execution/marker.h"

LLVMValueRef ompjit__marker_declare(LLVMModuleRef m, const char *name,
                                    const char *const *flags,
                                    const char *assumption)
{
    /* llvm::MemoryEffects as an attribute's number: two bits (1 reads, 2
     * writes) for each location, of which inaccessible memory is the second. */
    enum { INACCESSIBLE_MEMORY = 3 << 2 };
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, 0);
    LLVMValueRef f = LLVMAddFunction(m, name, type);
    for (; *flags; flags++)
        LLVMAddAttributeAtIndex(
            f, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(
                c, LLVMGetEnumAttributeKindForName(*flags, strlen(*flags)), 0));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName("memory", 6),
                                INACCESSIBLE_MEMORY));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, "llvm.assume", 11, assumption,
                                  (unsigned)strlen(assumption)));
    return f;
}

void ompjit__marker_drop(LLVMModuleRef m, const char *name)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    for (LLVMUseRef u; f && (u = LLVMGetFirstUse(f));)
        LLVMInstructionEraseFromParent(LLVMGetUser(u));
    if (f)
        LLVMDeleteFunction(f);
}
