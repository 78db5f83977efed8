/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls beside what synchronizes threads, for openmp-opt of LLVM 22. It assumes
 * of the code between two aligned barriers that no thread reads what another
 * has stored, since that would be a race: it then takes a load of a team's
 * variable for the value that was stored before the first barrier. In between,
 * threads may hand over data by locks, atomics and fences. openmp-opt
 * (AAExecutionDomain) looks for these only in calls of functions that it cannot
 * see into, but the device runtime's locks are linked, and so are the program's
 * own atomics.
 *
 * The call is of a function that nobody defines, which may synchronize, and does
 * nothing else. It stands there while openmp-opt runs.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/passes.h"

static const char marker[] = "ompjit_synchronizes";

static LLVMValueRef declare_marker(LLVMModuleRef m, LLVMTypeRef type)
{
    static const char *const flags[] = {"convergent", "nocallback", "nofree",
                                        "nounwind", "willreturn"};
    static const char assumption[] = "omp_no_openmp,ompx_spmd_amenable";
    enum { INACCESSIBLE_MEMORY = 3 << 2 }; /* llvm::MemoryEffects: read, write */
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMValueRef f = LLVMAddFunction(m, marker, type);
    for (size_t i = 0; i < OMPJIT__COUNT(flags); i++)
        LLVMAddAttributeAtIndex(
            f, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName(
                                           flags[i], strlen(flags[i])), 0));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName("memory", 6),
                                INACCESSIBLE_MEMORY));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, "llvm.assume", 11, assumption,
                                  sizeof assumption - 1));
    return f;
}

/* Relaxed atomics and volatile accesses, too: they read what other threads have
 * stored meanwhile. */
static bool synchronizes(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMLoad:
    case LLVMStore:
        return LLVMGetVolatile(i) ||
               LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic;
    default:
        return false;
    }
}

void ompjit__mark_synchronization(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, 0);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMValueRef callee = NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i;
                 i = next) {
                next = LLVMGetNextInstruction(i);
                if (!synchronizes(i))
                    continue;
                callee = callee ? callee : declare_marker(m, type);
                LLVMPositionBuilderBefore(b, i);
                LLVMBuildCall2(b, type, callee, NULL, 0, "");
                LLVMPositionBuilderBefore(b, next);
                LLVMBuildCall2(b, type, callee, NULL, 0, "");
            }
    LLVMDisposeBuilder(b);
}

void ompjit__unmark_synchronization(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, marker);
    for (LLVMUseRef u; f && (u = LLVMGetFirstUse(f));)
        LLVMInstructionEraseFromParent(LLVMGetUser(u));
    if (f)
        LLVMDeleteFunction(f);
}
