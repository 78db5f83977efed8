/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The launch properties of a GPU's kernels in their IR: the bound on a team's
 * threads, and the execution mode, which openmp-opt may change from generic to
 * SPMD.
 */
#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/describe/describe.h"
#include "passes/execution/marker.h"
#include "passes/execution/execution.h"

enum { WARP = 32, MOST_THREADS = 1024 };

static const char bound[] = "nvvm.maxntid";

/* A generic kernel's team is launched with one warp more than its clauses say,
 * for the main thread. PTX's .maxntid has to have room for it, or the driver
 * refuses the launch. */
static void set_bound(LLVMValueRef f, bool main_warp)
{
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(
        f, LLVMAttributeFunctionIndex, bound, sizeof bound - 1);
    unsigned n;
    const char *value = a ? LLVMGetStringAttributeValue(a, &n) : "";
    unsigned long threads = strtoul(value, NULL, 10);
    char text[16];
    if (!threads || strchr(value, ',')) /* a bare kernel's three dimensions */
        return;
    if (main_warp)
        threads = (threads + WARP - 1) / WARP * WARP + WARP;
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    int length = snprintf(text, sizeof text, "%lu", threads);
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(LLVMGetModuleContext(
                                      LLVMGetGlobalParent(f)),
                                  bound, sizeof bound - 1, text,
                                  (unsigned)length));
}

/* openmp-opt takes these upper bounds for the exact numbers of a launch, and
 * specializes the state machine of a generic kernel for them. */
static void drop_bounds(LLVMValueRef f)
{
    static const char *const names[] = {"omp_target_thread_limit",
                                        "omp_target_num_teams"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                         names[i], (unsigned)strlen(names[i]));
}

void ompjit__bound_threads(LLVMModuleRef m, const ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &unit->kernels[i];
        LLVMValueRef f = LLVMGetNamedFunction(m, k->symbol);
        if (!f)
            continue;
        set_bound(f, k->mode == OMPJIT_MODE_GENERIC);
        drop_bounds(f);
    }
}

bool ompjit__take_modes(LLVMModuleRef m, const ompjit__unit *unit, bool keep,
                        ompjit__buf *modes)
{
    bool found = false;
    for (unsigned i = 0; i < unit->nkernels; i++) {
        char mode = (char)unit->kernels[i].mode;
        LLVMValueRef f = LLVMGetNamedFunction(m, unit->kernels[i].symbol);
        LLVMValueRef env = f ? ompjit__environment_variable(m, f) : NULL;
        if (env) {
            mode = (char)ompjit__environment_mode(env);
            if (!keep) {
                LLVMSetVisibility(env, LLVMDefaultVisibility);
                LLVMSetLinkage(env, LLVMInternalLinkage);
            }
            found = true;
        }
        ompjit__buf_add(modes, &mode, 1);
    }
    return found;
}

/* ------------------------------------------------- between two openmp-opts */

static const char anchor[] = "ompjit_stays_generic";

/* The marker function of a kernel that has to stay generic: for openmp-opt only
 * one thread may call it, and for other passes it does nothing. */
static LLVMValueRef declare_anchor(LLVMModuleRef m)
{
    static const char *const flags[] = {"nofree", "nosync", "nounwind",
                                        "willreturn", NULL};
    return ompjit__marker_declare(m, anchor, flags, "omp_no_openmp");
}

/* Adds the call at the kernel's end. */
static void call_anchor(LLVMModuleRef m, LLVMValueRef f)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, 0);
    LLVMValueRef callee = LLVMGetNamedFunction(m, anchor);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMBasicBlockRef last = LLVMGetLastBasicBlock(f);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(last));
    LLVMBuildCall2(b, type, callee ? callee : declare_anchor(m), NULL, 0, "");
    LLVMDisposeBuilder(b);
}

void ompjit__mark_generic(LLVMModuleRef m, const ompjit__unit *unit,
                          const bool *which)
{
    for (unsigned i = 0; i < unit->nkernels; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, unit->kernels[i].symbol);
        LLVMValueRef env = f ? ompjit__environment_variable(m, f) : NULL;
        if (env && !LLVMIsDeclaration(f) && (!which || which[i]) &&
            ompjit__environment_mode(env) == OMPJIT_MODE_GENERIC)
            call_anchor(m, f);
    }
}

void ompjit__forget_generic(LLVMModuleRef m)
{
    ompjit__marker_drop(m, anchor);
}
