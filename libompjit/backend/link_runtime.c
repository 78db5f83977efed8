/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime becomes part of a module: which of its builds, and what of
 * it the module needs.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "backend/build.h"
#include "llvm/runtime_bitcode.h"
#include "passes/host/host.h"
#include "passes/host/team/team.h"
#include "passes/passes.h"
#include "passes/execution/execution.h"

/* Linked is what is used: runtime-bc/local.am makes functions linkonce. */
static ompjit_status take_runtime(struct build *b, LLVMModuleRef *out,
                                  ompjit_error *err)
{
    const char *triple = LLVMGetTarget(b->m);
    ompjit_status status = OMPJIT_OK;
    *out = b->plain == b->runtime_plain ? b->runtime : NULL;
    if (*out)
        b->runtime = NULL;
    else
        status = ompjit__runtime_read(b->context, triple, b->plain,
                                      &b->messages, out, err);
    if (!status)
        LLVMSetTarget(*out, triple); /* where vendor or system differ */
    return status;
}

/* Is there a kernel that wants to know what task it is in? */
static bool asks_for_tasks(LLVMModuleRef m)
{
    return LLVMGetNamedFunction(m, "omp_in_final") ||
           LLVMGetNamedFunction(m, "omp_in_explicit_task");
}

/* May a task be over only when somebody fulfills its event? */
static bool has_events(LLVMModuleRef m)
{
    return LLVMGetNamedFunction(m, "__kmpc_task_allow_completion_event");
}

/* May a task create itself anew, for its next part? */
static bool has_untied(LLVMModuleRef m)
{
    enum { TIED = 1 };
    LLVMValueRef f = LLVMGetNamedFunction(m, "__kmpc_omp_task_alloc");
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        LLVMValueRef flags =
            LLVMIsACallInst(call) ? LLVMGetOperand(call, 2) : NULL;
        if (!flags || !LLVMIsAConstantInt(flags) ||
            !(LLVMConstIntGetZExtValue(flags) & TIED))
            return true;
    }
    return false;
}

/* May a thread begin regions of its own in the form of host code? */
static bool has_serialized(LLVMModuleRef m)
{
    return LLVMGetNamedFunction(m, "__kmpc_serialized_parallel");
}

/* Does a kernel cancel something, where the program has asked for that? */
static bool cancels(const struct build *b)
{
    return b->compiler->cancellation &&
           (LLVMGetNamedFunction(b->m, "__kmpc_cancel") ||
            LLVMGetNamedFunction(b->m, "omp_get_cancellation"));
}

/* Is a kernel built whose teams need a form of their own? */
static bool has_team_form(const struct build *b, const ompjit__kernel_desc *k)
{
    return k->observes_threads &&
           (!b->spec->kernel || !strcmp(b->spec->kernel, k->symbol));
}

static bool has_team_forms(const struct build *b)
{
    for (unsigned i = 0; i < b->unit->nkernels; i++)
        if (has_team_form(b, &b->unit->kernels[i]))
            return true;
    return false;
}

/* Is the plain runtime enough? Forms of teams and the checker want more. If
 * regions have unusual numbers of arguments, the whole one knows how to call
 * them. */
static bool is_plain(const struct build *b)
{
    bool wants_more =
        b->host && (has_team_forms(b) || b->compiler->checks);
    return !wants_more && b->unit->opt_level &&
           ompjit__is_spmd(b->unit, b->spec) &&
           ompjit__is_plain(b->m, b->host) &&
           (LLVMGetNamedFunction(b->m, "ompjit_invoke") ||
            !LLVMGetNamedFunction(b->m, "__kmpc_parallel_60"));
}

/* Adds the forms of kernels whose teams have several threads. */
void ompjit__build_add_team_forms(struct build *b)
{
    if (!b->unit->opt_level || b->compiler->checks ||
        b->spec->facts.threads.all == 1)
        return;
    for (unsigned i = 0; i < b->unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &b->unit->kernels[i];
        if (has_team_form(b, k))
            ompjit__add_team_form(b->m, k->symbol, k->mode);
    }
}

void ompjit__build_choose_runtime(struct build *b)
{
    b->flat = ompjit__is_flat(b->m, b->unit);
    b->plain = b->flat && is_plain(b);
    b->asks_for_tasks = asks_for_tasks(b->m);
    b->has_events = has_events(b->m);
    b->has_untied = has_untied(b->m);
    b->has_serialized = has_serialized(b->m);
    b->cancels = cancels(b);
}

/* Takes over the runtime's module: LLVMLinkModules2 destroys it, also when it
 * fails. */
ompjit_status ompjit__build_link(struct build *b, ompjit_error *err)
{
    LLVMModuleRef runtime;
    size_t mark = b->messages.size;
    ompjit_status status = take_runtime(b, &runtime, err);
    if (status)
        return status;
    if (LLVMLinkModules2(b->m, runtime))
        return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                            "%s does not link with the device runtime: %s",
                            b->unit->name,
                            b->messages.data ? b->messages.data + mark : "");
    return OMPJIT_OK;
}
