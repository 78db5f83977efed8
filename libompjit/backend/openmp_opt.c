/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs of openmp-opt: with the options of the unit and with remarks, and, where
 * kernels are generic, with a look at what it has made of them. What does not
 * hold is taken back: the run is repeated on the module as it was, with marks on
 * those kernels that have to stay generic, or is left out.
 *
 *     copy the module
 *     openmp-opt ---- few rounds were allowed, and did not do: back to the copy
 *       the module is broken: back to the copy
 *     look at each kernel that is SPMD now
 *       all are right: done
 *       some are not: back to the copy, marked; openmp-opt once more
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "backend/build.h"
#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"
#include "llvm/options.h"
#include "llvm/remarks.h"
#include "passes/gpu/gpu.h"
#include "passes/execution/execution.h"

/* ------------------------------------------------------------------ one run */

/* What LLVM's options of these names only print in a build for its own
 * developers. */
static void log_ir(const struct build *b, enum ompjit__opt_id id,
                   const char *when)
{
    if (!ompjit__opt(&b->unit->opts, id))
        return;
    char *text = LLVMPrintModuleToString(b->m);
    ompjit__report(b->compiler, "%s %s openmp-opt:\n%s", b->unit->name, when,
                   text);
    LLVMDisposeMessage(text);
}

/* The pass for the call graph is part of LLVM's pipeline, and does more than
 * the one for modules where an option asks for it. */
static const char *passes_for(const ompjit__opts *opts)
{
    static const enum ompjit__opt_id ids[] = {
        OMPJIT__OPT_ENABLE_MERGING, OMPJIT__OPT_DEDUCE_ICV_VALUES,
        OMPJIT__OPT_PRINT_ICV_VALUES, OMPJIT__OPT_PRINT_GPU_KERNELS};
    for (size_t i = 0; i < OMPJIT__COUNT(ids); i++)
        if (ompjit__opt(opts, ids[i]))
            return "openmp-opt,cgscc(openmp-opt-cgscc)";
    return "openmp-opt";
}

/* Does the call start no parallel region, which openmp-opt does not know? */
static bool starts_nothing(LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t n;
    const char *name =
        LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &n) : "";
    return LLVMIsAInlineAsm(callee) || !strcmp(name, "malloc") ||
           !strcmp(name, "free") || !strcmp(name, "vprintf");
}

static void assume_of_calls(LLVMValueRef f)
{
    static const char kind[] = "llvm.assume", value[] = "omp_no_openmp";
    LLVMAttributeRef a = LLVMCreateStringAttribute(
        LLVMGetModuleContext(LLVMGetGlobalParent(f)), kind, sizeof kind - 1,
        value, sizeof value - 1);
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    for (; block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) && starts_nothing(i))
                LLVMAddCallSiteAttribute(i, LLVMAttributeFunctionIndex, a);
}

/* The helpers undo what openmp-opt would otherwise take for granted; they say
 * what that is (memory_effects.cc, synchronization.cc, loop_bodies.c and
 * long_blocks.cc of passes/execution/). */
static ompjit_status run(struct build *b, ompjit__buf *remarks,
                         ompjit_error *err)
{
    const ompjit__opts *opts = &b->unit->opts;
    LLVMValueRef f = LLVMGetFirstFunction(b->m);
    for (; f; f = LLVMGetNextFunction(f))
        assume_of_calls(f);
    ompjit__widen_memory_effects(b->m);
    ompjit__mark_synchronization(b->m);
    if (!ompjit__mark_loop_bodies(b->m))
        return ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    ompjit__cut_blocks(b->m);
    log_ir(b, OMPJIT__OPT_PRINT_MODULE_BEFORE, "before");
    ompjit__remarks_begin(b->context, remarks);
    ompjit__llvm_options_begin(opts);
    ompjit_status status = ompjit__build_passes(b, passes_for(opts), err);
    ompjit__llvm_options_end();
    ompjit__remarks_end(b->context);
    log_ir(b, OMPJIT__OPT_PRINT_MODULE_AFTER, "behind");
    ompjit__join_blocks(b->m);
    ompjit__unmark_synchronization(b->m);
    ompjit__unmark_loop_bodies(b->m);
    return status;
}

/* Has the list a remark of this id? */
static bool has_remark(const ompjit__buf *list, const char *id)
{
    ompjit__reader r = {list->data, list->size, false};
    ompjit_remark remark;
    while (ompjit__remark_next(&r, &remark))
        if (!strcmp(remark.id, id))
            return true;
    return false;
}

static void go_back(struct build *b, LLVMModuleRef *copy)
{
    LLVMDisposeModule(b->m);
    b->m = *copy;
    *copy = NULL;
}

/* The module is as it was, for good. */
static void leave_out(struct build *b, LLVMModuleRef *copy, const char *why)
{
    go_back(b, copy);
    for (unsigned i = 0; i < b->unit->nkernels; i++) {
        LLVMValueRef f =
            LLVMGetNamedFunction(b->m, b->unit->kernels[i].symbol);
        if (f && !LLVMIsDeclaration(f))
            ompjit__remark_at(
                &b->image->remarks, f,
                &(ompjit__remark){
                    .id = OMPJIT__REMARK_OMPJIT110,
                    .what = "What openmp-opt did to the kernel is taken back",
                    .why = why});
    }
}

static const char endless_why[] =
    "its analysis did not end within the rounds that the option "
    "openmp-opt-max-iterations allows";
static const char broken_why[] =
    "it has made invalid IR of the module, which is a mistake of LLVM's";

/* Has LLVM 22's openmp-opt broken the module? In functions that call themselves
 * it may use a value before that is there. */
static bool is_broken(const struct build *b)
{
    return LLVMVerifyModule(b->m, LLVMReturnStatusAction, NULL);
}

/* Appends what was done. What is found in code that the runtime is a part of is
 * not about the source, and no reason for anything: kernels have their modes. */
static void add_done(ompjit__buf *to, const ompjit__buf *from)
{
    ompjit__reader r = {from->data, from->size, false};
    ompjit_remark remark;
    for (const char *at = r.at; ompjit__remark_next(&r, &remark); at = r.at)
        if (remark.kind != OMPJIT_REMARK_ANALYSIS)
            ompjit__buf_add(to, at, (size_t)(r.at - at));
    to->failed |= from->failed;
}

/* Did the rounds that an option allows not do? At LLVM's own number of them
 * what is not known by then is taken for unknown, and what was found is kept;
 * with few rounds it removes what is needed. */
static bool is_cut_short(const struct build *b, const ompjit__buf *remarks)
{
    const ompjit__opt_row *row = ompjit__opt_at(OMPJIT__OPT_MAX_ITERATIONS);
    return ompjit__opt(&b->unit->opts, OMPJIT__OPT_MAX_ITERATIONS) <
               row->ordinary &&
           has_remark(remarks, "FixedPoint");
}

ompjit_status ompjit__build_openmp_opt(struct build *b, ompjit_error *err)
{
    ompjit__buf remarks = {0};
    bool few = b->unit->opts.given >> OMPJIT__OPT_MAX_ITERATIONS & 1;
    LLVMModuleRef copy = few ? LLVMCloneModule(b->m) : NULL;
    ompjit_status status = run(b, &remarks, err);
    if (!status && is_cut_short(b, &remarks))
        leave_out(b, &copy, endless_why);
    else
        add_done(&b->image->remarks, &remarks);
    if (copy)
        LLVMDisposeModule(copy);
    ompjit__buf_free(&remarks);
    return status;
}

/* ------------------------------------------------------------------ looking */

/* A call of the runtime's function for shared variables in the function, that
 * all threads make; NULL: there is none. */
static LLVMValueRef find_allocation(LLVMValueRef alloc, LLVMValueRef f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(alloc); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        LLVMBasicBlockRef block =
            LLVMIsACallInst(call) ? LLVMGetInstructionParent(call) : NULL;
        if (block && LLVMGetCalledValue(call) == alloc &&
            LLVMGetBasicBlockParent(block) == f && !ompjit__is_guarded(block))
            return call;
    }
    return NULL;
}

/* A variable that the sequential part of the kernel still takes from the
 * runtime: in SPMD mode each thread would have its own. NULL: none. */
static LLVMValueRef find_own_variable(LLVMModuleRef m, LLVMValueRef kernel,
                                      bool *failed)
{
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    LLVMValueRef found = NULL;
    if (!alloc)
        return NULL;
    ompjit__reached main = ompjit__sequential_part(kernel);
    for (size_t i = 0; i < main.n && !found; i++)
        found = find_allocation(alloc, main.functions[i]);
    *failed |= main.failed;
    free(main.functions);
    return found;
}

static int mode_of(LLVMModuleRef m, const ompjit__kernel_desc *k)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, k->symbol);
    LLVMValueRef env = f ? ompjit__environment_variable(m, f) : NULL;
    return env ? (int)ompjit__environment_mode(env) : -1;
}

/* Appends those that are about how kernels are now: why one could not become
 * SPMD, and of which form its workers' loop is, are no news of one that is. */
static void add_current(struct build *b, const ompjit__buf *from)
{
    ompjit__buf *to = &b->image->remarks;
    ompjit__reader r = {from->data, from->size, false};
    ompjit_remark remark;
    for (const char *at = r.at; ompjit__remark_next(&r, &remark); at = r.at) {
        bool about_workers = !strncmp(remark.id, "OMP10", 5) ||
                             !strncmp(remark.id, "OMP13", 5);
        LLVMValueRef f = LLVMGetNamedFunction(b->m, remark.kernel);
        LLVMValueRef env =
            about_workers && f ? ompjit__environment_variable(b->m, f) : NULL;
        if (!env || ompjit__environment_mode(env) == OMPJIT_MODE_GENERIC)
            ompjit__buf_add(to, at, (size_t)(r.at - at));
    }
    to->failed |= from->failed;
}

/* Reasons for the kernels that are generic still, by the code that openmp-opt
 * was given; but for those that we have marked, which have one. */
static void explain(struct build *b, LLVMModuleRef copy, const bool *marked,
                    bool *failed)
{
    for (unsigned i = 0; i < b->unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &b->unit->kernels[i];
        LLVMValueRef f = LLVMGetNamedFunction(copy, k->symbol);
        if (f && !LLVMIsDeclaration(f) && !marked[i] &&
            mode_of(b->m, k) == OMPJIT_MODE_GENERIC)
            *failed |= !ompjit__explain_generic(f, &b->image->remarks);
    }
}

/* Must the kernel not be SPMD as it is? A remark then says why. `others`: of
 * ompjit__not_for_guards. */
static bool judge_one(struct build *b, const ompjit__kernel_desc *k,
                      const ompjit__reached *others, ompjit__buf *remarks,
                      bool *failed)
{
    static const char what[] = "The kernel stays generic";
    LLVMValueRef f = LLVMGetNamedFunction(b->m, k->symbol);
    LLVMValueRef variable = find_own_variable(b->m, f, failed);
    LLVMValueRef write = variable ? NULL : ompjit__guarded_stack(f);
    LLVMValueRef callee =
        variable || write ? NULL : ompjit__misplaced_guards(f, others, failed);
    char *name = variable ? ompjit__remark_variable(variable)
                 : callee ? ompjit__remark_function(callee)
                          : NULL;
    if (variable)
        ompjit__remark_at(
            remarks, variable,
            &(ompjit__remark){
                .id = OMPJIT__REMARK_OMPJIT111,
                .kernel = k->symbol,
                .variable = name,
                .what = what,
                .why = "a variable that its threads share has no place in "
                       "team-shared memory"});
    else if (write)
        ompjit__remark_at(remarks, write,
                          &(ompjit__remark){.id = OMPJIT__REMARK_OMPJIT114,
                                            .kernel = k->symbol,
                                            .what = what});
    else if (callee)
        ompjit__remark_at(remarks, callee,
                          &(ompjit__remark){.id = OMPJIT__REMARK_OMPJIT118,
                                            .kernel = k->symbol,
                                            .subject = name,
                                            .what = what});
    free(name);
    return variable || write || callee;
}

/* Sets wrong[i] for each kernel that must not be SPMD as it is, with a remark
 * in `remarks`. */
static unsigned judge(struct build *b, bool *wrong, ompjit__buf *remarks,
                      bool *failed)
{
    unsigned n = 0;
    ompjit__reached others = ompjit__not_for_guards(b);
    for (unsigned i = 0; i < b->unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &b->unit->kernels[i];
        if (mode_of(b->m, k) == OMPJIT_MODE_GENERIC_SPMD &&
            judge_one(b, k, &others, remarks, failed)) {
            wrong[i] = true;
            n++;
        }
    }
    *failed |= others.failed;
    free(others.functions);
    return n;
}

/* ---------------------------------------------------------------- whole */

/* One run that is looked at. True: it holds, and its remarks are the image's.
 * Else the module is as before, with wrong[i] set for more kernels, or left
 * so. */
static bool attempt(struct build *b, bool *wrong, ompjit_status *status,
                ompjit_error *err)
{
    ompjit__buf remarks = {0}, ours = {0};
    bool failed = false;
    LLVMModuleRef copy = LLVMCloneModule(b->m);
    *status = run(b, &remarks, err);
    const char *why = *status                      ? NULL
                      : is_cut_short(b, &remarks) ? endless_why
                      : is_broken(b)              ? broken_why
                                                  : NULL;
    unsigned n = *status || why ? 0 : judge(b, wrong, &ours, &failed);
    b->breaks |= why == broken_why;
    if (why)
        leave_out(b, &copy, why);
    else if (n)
        go_back(b, &copy);
    else if (!*status) {
        add_current(b, &remarks);
        if (!ompjit__opt(&b->unit->opts, OMPJIT__OPT_DISABLE) &&
            !ompjit__opt(&b->unit->opts, OMPJIT__OPT_DISABLE_SPMDIZATION))
            explain(b, copy, wrong, &failed);
    }
    ompjit__buf_add(&b->image->remarks, ours.data, ours.size);
    if (copy)
        LLVMDisposeModule(copy);
    failed |= remarks.failed | ours.failed | b->image->remarks.failed;
    ompjit__buf_free(&remarks);
    ompjit__buf_free(&ours);
    if (failed && !*status)
        *status = ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    return !n;
}

/* Each round that does not hold marks a kernel more, so there is an end. */
ompjit_status ompjit__build_openmp_opt_generic(struct build *b,
                                               ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    bool *wrong = calloc(b->unit->nkernels + 1, sizeof *wrong);
    if (!wrong)
        return ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    while (!attempt(b, wrong, &status, err) && !status)
        ompjit__mark_generic(b->m, b->unit, wrong);
    free(wrong);
    return status;
}
