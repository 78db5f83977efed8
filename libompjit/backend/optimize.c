/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The steps of the pipeline that run LLVM's own pipelines and openmp-opt.
 */
#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/check.h"
#include "abi/host_layout.h"
#include "abi/offload.h"
#include "backend/build.h"
#include "backend/variant_pipeline.h"
#include "optimizer/counters.h"
#include "passes/gpu/gpu.h"
#include "passes/passes.h"
#include "passes/execution/execution.h"
#include "runtime-bc/assertion.h"

ompjit_status ompjit__build_passes(struct build *b, const char *passes,
                                   ompjit_error *err)
{
    return ompjit__run_passes(b->m, b->tm, passes, OMPJIT_STAGE_OPTIMIZE, err);
}

/* A template keeps what its variants will fold or look for. */
static bool is_template(const struct build *b)
{
    return b->route == OMPJIT__TEMPLATE;
}

/* Adds a name to internalize's list. */
static void preserve(ompjit__buf *passes, const char *name)
{
    bool first = passes->size && passes->data[passes->size - 1] == '<';
    ompjit__buf_printf(passes, "%spreserve-gv=%s", first ? "" : ";", name);
}

/* A kernel stays by the names that whoever loads the image looks for: itself on
 * a GPU, its entries on a CPU. A template's kernel stays too, since variants
 * fold its parameters; and the environment, as openmp-opt writes the mode
 * there. */
static void preserve_kernel(struct build *b, ompjit__buf *passes,
                            const char *symbol)
{
    char *entry = ompjit__format("%s" OMPJIT__ENTRY_SUFFIX, symbol);
    char *team = ompjit__format("%s" OMPJIT__TEAM_SUFFIX, symbol);
    char *body = ompjit__format("%s" OMPJIT__TEAM_BODY_SUFFIX, symbol);
    char *environment = ompjit__format("%s_kernel_environment", symbol);
    if (!b->host || is_template(b))
        preserve(passes, symbol);
    if (b->host && entry)
        preserve(passes, entry);
    if (b->host && team)
        preserve(passes, team);
    if (b->host && is_template(b) && body)
        preserve(passes, body);
    if (!b->host && (!b->spmd || b->spec->keeps_environments) && environment)
        preserve(passes, environment);
    free(entry);
    free(team);
    free(body);
    free(environment);
}

/* The functions that openmp-opt calls in the code that it adds, also when
 * nothing else has called it before. They only read registers. */
static const char *const added[] = {"__kmpc_get_hardware_thread_id_in_block",
                                    "__kmpc_get_hardware_num_threads_in_block",
                                    "__kmpc_get_warp_size"};

void ompjit__build_drop_added(LLVMModuleRef m)
{
    for (size_t i = 0; i < OMPJIT__COUNT(added); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, added[i]);
        if (f && !LLVMIsDeclaration(f))
            LLVMSetLinkage(f, LLVMInternalLinkage);
    }
}

/* "internalize<preserve-gv=A;preserve-gv=B>": kernels stay, and variables that
 * the host reaches by name. */
static void internalize_pass(struct build *b, ompjit__buf *passes)
{
    ompjit__buf_printf(passes, "internalize<");
    for (unsigned i = 0; i < b->unit->nkernels; i++)
        if (!b->spec->kernel ||
            !strcmp(b->unit->kernels[i].symbol, b->spec->kernel))
            preserve_kernel(b, passes, b->unit->kernels[i].symbol);
    if (b->image->constructors)
        preserve_kernel(b, passes, OMPJIT__CONSTRUCTORS);
    for (unsigned i = 0; i < b->image->nglobals; i++)
        preserve(passes, b->image->globals[i].name);
    if (b->image->nglobals && b->image->imports_globals && !b->host)
        preserve(passes, OMPJIT__IMPORTS);
    if (b->host && b->compiler->checks) {
        preserve(passes, OMPJIT__CHECK_VARIABLES);
        preserve(passes, OMPJIT__CHECK_COUNT);
        preserve(passes, OMPJIT__CHECK_CALLEES);
    }
    for (unsigned i = 0; !b->host && i < b->unit->nglobals; i++)
        preserve(passes, b->unit->globals[i].symbol);
    if (LLVMGetNamedGlobal(b->m, OMPJIT__COUNTERS))
        preserve(passes, OMPJIT__COUNTERS);
    if (b->image->environment && !b->host)
        preserve(passes, OMPJIT__DEVICE_ENVIRONMENT);
    if (!b->host && LLVMGetNamedGlobal(b->m, OMPJIT_ASSERTION_AT))
        preserve(passes, OMPJIT_ASSERTION_AT);
    for (size_t i = 0; !b->host && !b->spmd && i < OMPJIT__COUNT(added); i++)
        preserve(passes, added[i]);
    for (size_t i = 0; is_template(b) && ompjit__fold_name(i); i++)
        preserve(passes, ompjit__fold_name(i));
    ompjit__buf_printf(passes, ">");
}

ompjit_status ompjit__build_internalize(struct build *b, ompjit_error *err)
{
    ompjit__buf passes = {0};
    b->openmp = LLVMGetModuleFlag(b->m, "openmp", 6) != NULL;
    internalize_pass(b, &passes);
    ompjit_status status =
        passes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE)
                      : ompjit__build_passes(b, passes.data, err);
    ompjit__buf_free(&passes);
    return status;
}

/* Loops round the ranges of a team (runtime-bc), which have no second round:
 * the pipeline sees that too late to simplify what is left. */
#define DROP_ROUNDS                                                            \
    ",function(loop(loop-deletion),simplifycfg,early-cse<memssa>,"             \
    "instcombine<no-verify-fixpoint>,simplifycfg)"

/* LLVM's pipeline simplifies each function alone before it inlines. The
 * runtime's are large, until it is known which schedule a loop has and how many
 * threads there are. */
#define INLINE_RUNTIME                                                         \
    "globaldce,ipsccp,function(sroa,instsimplify,simplifycfg),always-inline,"

/* Forms for whole teams have been through LLVM's pipeline already; -O0 and the
 * checker want code as it was written. */
static bool inlines_first(const struct build *b)
{
    return b->unit->opt_level && !b->teams && !b->compiler->checks;
}

/* In the end what only functions that are gone have read goes. */
ompjit_status ompjit__build_llvm_pipeline(struct build *b, bool simplify,
                                          ompjit_error *err)
{
    char passes[280];
    snprintf(passes, sizeof passes, "%s%s<O%u>%s",
             b->host    ? inlines_first(b) ? INLINE_RUNTIME : "globaldce,"
             : b->plain ? "always-inline,globaldce," OMPJIT__CLEAN ","
                        : "",
             simplify ? "thinlto-pre-link" : "default",
             b->unit->opt_level,
             simplify ? DROP_ROUNDS : ",globalopt,globaldce");
    return ompjit__build_passes(b, passes, err);
}

static LLVMValueRef caller_of(LLVMUseRef use)
{
    LLVMValueRef call = LLVMGetUser(use);
    return LLVMIsACallInst(call)
               ? LLVMGetBasicBlockParent(LLVMGetInstructionParent(call))
               : NULL;
}

/* Does one function start more parallel regions than this? */
static bool starts_many(LLVMModuleRef m)
{
    enum { MANY = 8 };
    LLVMValueRef start = LLVMGetNamedFunction(m, "__kmpc_parallel_60");
    LLVMUseRef u = start ? LLVMGetFirstUse(start) : NULL;
    for (; u; u = LLVMGetNextUse(u)) {
        LLVMValueRef f = caller_of(u);
        unsigned n = 0;
        for (LLVMUseRef v = u; f && v; v = LLVMGetNextUse(v))
            n += caller_of(v) == f;
        if (n > MANY)
            return true;
    }
    return false;
}

/* Before the run of openmp-opt that looks for no generic kernels any more. Its
 * time grows with the third power of the regions of one function that calls the
 * runtime's (AAInterFnReachability), 14 seconds for 100: where a function has
 * many, they are inlined. In others openmp-opt may find out more of functions
 * than of what has been inlined. */
ompjit_status ompjit__build_inline_runtime(struct build *b, ompjit_error *err)
{
    static const char inlined[] =
        "ipsccp,cgscc(inline," OMPJIT__CLEAN "),globaldce";
    const bool all = b->spmd || starts_many(b->m);
    ompjit_status status = ompjit__build_passes(
        b,
        b->spmd ? "globaldce" : "globaldce,always-inline," OMPJIT__CLEAN
                                ",globaldce",
        err);
    if (!status && all)
        status = ompjit__build_passes(b, inlined, err);
    return status;
}

/* Barriers of regions that have been inlined stand at a kernel's ends, which
 * openmp-opt sees when nothing of the runtime is left before and behind them.
 * Its time grows with the square of what there is, minutes for 20,000
 * instructions, and where there is much it finds nothing. */
ompjit_status ompjit__build_drop_barriers(struct build *b, ompjit_error *err)
{
    enum { MUCH = 3000 };
    if (ompjit__instruction_count(b->m) > MUCH)
        return OMPJIT_OK;
    ompjit__add_openmp_flags(b->m);
    ompjit_status status = ompjit__build_openmp_opt(b, err);
    if (!status)
        status = ompjit__build_passes(b, "function(simplifycfg)", err);
    ompjit__forget_stack_accesses(b->m);
    ompjit__drop_openmp_flags(b->m);
    return status;
}

/* The option that keeps openmp-opt from dropping barriers holds here, too.
 * Teams of CUDA sources and of bare kernels may have several dimensions. */
void ompjit__build_drop_needless_barriers(struct build *b)
{
    for (unsigned i = 0; i < b->unit->nkernels; i++)
        if (b->unit->kernels[i].cuda ||
            b->unit->kernels[i].mode == OMPJIT_MODE_BARE)
            return;
    if (!ompjit__opt(&b->unit->opts, OMPJIT__OPT_DISABLE_BARRIER_ELIMINATION))
        ompjit__drop_needless_barriers(b->m);
}

/* openmp-opt has decided which generic kernels are SPMD. */
ompjit_status ompjit__build_settle_modes(struct build *b, ompjit_error *err)
{
    bool found = ompjit__take_modes(
        b->m, b->unit, b->spec->keeps_environments, &b->image->modes);
    if (b->image->modes.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    return found ? ompjit__build_passes(b, "globaldce", err) : OMPJIT_OK;
}

/* The runtime has the variable in every module that it is linked with. */
void ompjit__build_find_environment(struct build *b)
{
    LLVMValueRef environment =
        LLVMGetNamedGlobal(b->m, OMPJIT__DEVICE_ENVIRONMENT);
    b->image->environment = environment && LLVMGetFirstUse(environment);
}

/* A template in which the runtime and all functions have been inlined has the
 * kernel alone, and on the host the entry that calls it. O1 is left to LLVM's
 * own pipeline, which does less than ours for variants. */
bool ompjit__build_is_simple(const struct build *b)
{
    unsigned defined = 0, forms = 1;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->m); f;
         f = LLVMGetNextFunction(f))
        defined += !LLVMIsDeclaration(f);
    if (b->host && ompjit__kernel_function(b->m, b->spec->kernel, 1))
        forms = 2;
    return b->route == OMPJIT__VARIANT && b->unit->opt_level > 1 &&
           defined <= forms * (b->host ? 2 : 1);
}

/* Everything in a template's module is internal already, but for the kernel:
 * the host's has an entry, a GPU's is nobody else's to define. */
ompjit_status ompjit__build_variant_passes(struct build *b, ompjit_error *err)
{
    for (unsigned form = 0; form < 2; form++) {
        LLVMValueRef f =
            ompjit__kernel_function(b->m, b->spec->kernel, form);
        if (f)
            LLVMSetLinkage(f, b->host ? LLVMInternalLinkage
                                      : LLVMExternalLinkage);
    }
    return ompjit__run_variant_passes(b->m, b->tm, b->host, err);
}
