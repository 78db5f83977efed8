/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Marks calls of the runtime's loops (__kmpc_distribute_static_loop_4 and its
 * kin, of flang's code), for openmp-opt of LLVM 22. It knows these functions by
 * name and assumes that they start no parallel region; but the loop's body that
 * they call may. If openmp-opt has seen no region of a generic kernel, it
 * removes the loop in which the kernel's other threads wait for regions, and
 * the regions run with the main thread alone.
 *
 * A marker (marker.h) before the call, of which openmp-opt assumes nothing, is
 * a call that may start a region.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/describe/reach.h"
#include "passes/execution/marker.h"
#include "passes/execution/execution.h"

static const char marker[] = "ompjit_runs_regions";

static bool is_parallel(const char *name)
{
    return !strcmp(name, "__kmpc_parallel_60");
}

/* May a region start in the body of the loop that the call runs? */
static bool body_has_region(LLVMValueRef call, bool *failed)
{
    LLVMValueRef body = ompjit__loop_body(call);
    if (!body)
        return true;
    ompjit__reached r = ompjit__reached_by(body);
    bool found = ompjit__reaches(&r, is_parallel);
    *failed |= r.failed;
    free(r.functions);
    return found;
}

static void mark_calls(LLVMModuleRef m, LLVMValueRef loop, LLVMBuilderRef b,
                       bool *failed)
{
    static const char *const flags[] = {"convergent", "nofree", "nounwind",
                                        "willreturn", NULL};
    for (LLVMUseRef u = LLVMGetFirstUse(loop); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != loop ||
            !body_has_region(call, failed))
            continue;
        LLVMValueRef f = LLVMGetNamedFunction(m, marker);
        if (!f)
            f = ompjit__marker_declare(m, marker, flags, "");
        LLVMPositionBuilderBefore(b, call);
        LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, NULL, 0, "");
    }
}

bool ompjit__mark_loop_bodies(LLVMModuleRef m)
{
    bool failed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        if (ompjit__runs_loop(f))
            mark_calls(m, f, b, &failed);
    LLVMDisposeBuilder(b);
    return !failed;
}

void ompjit__unmark_loop_bodies(LLVMModuleRef m)
{
    ompjit__marker_drop(m, marker);
}
