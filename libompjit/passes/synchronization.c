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

#include "passes/marker.h"
#include "passes/passes.h"

static const char marker[] = "ompjit_synchronizes";

static LLVMValueRef declare_marker(LLVMModuleRef m)
{
    static const char *const flags[] = {"convergent", "nocallback", "nofree",
                                        "nounwind", "willreturn", NULL};
    return ompjit__marker_declare(m, marker, flags,
                                  "omp_no_openmp,ompx_spmd_amenable");
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
                callee = callee ? callee : declare_marker(m);
                LLVMPositionBuilderBefore(b, i);
                LLVMBuildCall2(b, type, callee, NULL, 0, "");
                LLVMPositionBuilderBefore(b, next);
                LLVMBuildCall2(b, type, callee, NULL, 0, "");
            }
    LLVMDisposeBuilder(b);
}

void ompjit__unmark_synchronization(LLVMModuleRef m)
{
    ompjit__marker_drop(m, marker);
}
