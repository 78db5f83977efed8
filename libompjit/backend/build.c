/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Unit to image. The whole pipeline, in this order:
 *
 *   device bitcode
 *     -> read         into an LLVM context of its own
 *     -> narrow       to one kernel, where the spec names one
 *     -> translate    calls through pointers (passes/indirect_calls.c)
 *     -> retarget     host only: GPU form to this CPU (lower.c)
 *     -> instrument   host only, where the context checks
 *                     (passes/host/instrument.c)
 *     -> link         runtime-bc; math (math.c)
 *     -> simplify     for a template (template.c): LLVM's simplifications
 *     -> fold         literals of the kernel, geometry into the runtime
 *     -> optimize     everything but entries internal, then LLVM's pipeline
 *     -> finish       host only: team-shared variables (lower.c)
 *     -> generate     PTX text, or a host object
 *     -> assemble     PTX to cubin (assemble.c)
 *
 * A variant of one kernel starts at `fold`, from the kernel's template; what
 * has all kernels is not simplified first.
 *
 * Nothing outside the image survives, so builds may run on many threads.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/host/host.h"
#include "backend/nvptx/nvptx.h"
#include "llvm/runtime_bitcode.h"
#include "passes/gpu/gpu.h"
#include "passes/host/host.h"
#include "abi/host_layout.h"
#include "core/instruction_count.h"
#include "backend/cuda/cuda_image.h"
#include "backend/nvptx/ptx_text.h"
#include "core/template.h"
#include "abi/check.h"
#include "passes/passes.h"
#include "abi/offload.h"
#include "runtime-bc/assertion.h"

struct build {
    ompjit__compiler *compiler;
    const ompjit__unit *unit;
    const ompjit__arch *arch;
    ompjit_format format;
    const ompjit__spec *spec;
    bool host;
    bool is_template; /* ends simplified, not optimized */
    bool templated;   /* started from one */
    ompjit__passes passes; /* LEAN: the template was nothing but its kernel */
    bool spmd; /* all kernels are; known once the runtime is linked */
    bool plain; /* they are, and the runtime is the plain one */
    ompjit__image *image;
    ompjit__buf messages;
    LLVMContextRef context;
    LLVMModuleRef m;
    LLVMModuleRef runtime; /* read before the build began; NULL: not */
    ompjit__machine *machine;
    LLVMTargetMachineRef tm; /* its own */
    uint64_t stage_start;
};

static void done(struct build *b, ompjit_stage stage)
{
    ompjit__report_stage(b->compiler, stage, b->stage_start);
    b->stage_start = ompjit__now();
}

static ompjit_status verify(struct build *b, ompjit_error *err)
{
    char *text = NULL;
    ompjit_status status = OMPJIT_OK;
    if (LLVMVerifyModule(b->m, LLVMReturnStatusAction, &text))
        status = ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_CODEGEN,
                              "%s: IR broken by lowering: %s", b->unit->name,
                              text);
    LLVMDisposeMessage(text);
    return status;
}

/* A variant is built where others have been (build_scratch.h), a unit in a
 * context of its own, in which the runtime may have been read already. */
static ompjit_status take_context(struct build *b, ompjit_error *err)
{
    ompjit__machine *machine = b->machine;
    if (b->templated && !machine->stock)
        machine->stock = ompjit__stock_new(
            b->tm, b->host ? LLVMObjectFile : LLVMAssemblyFile);
    if (b->templated && !machine->stock)
        return ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    if (b->templated) {
        b->context = ompjit__stock_context(machine->stock);
    } else if (machine->context) {
        b->context = machine->context;
        b->runtime = machine->runtime;
        machine->context = NULL;
    } else {
        b->context = LLVMContextCreate();
    }
    ompjit__llvm_collect(b->context, &b->messages);
    return OMPJIT_OK;
}

static ompjit_status start(struct build *b, ompjit_error *err)
{
    const ompjit__machine like = {.arch = b->arch,
                                  .ptx = b->spec->ptx,
                                  .opt_level = b->unit->opt_level};
    ompjit_status status =
        ompjit__machine_take(b->compiler, &like, &b->machine, err);
    if (status)
        return status;
    b->tm = b->machine->tm;
    return take_context(b, err);
}

static void leave_context(struct build *b, bool failed)
{
    ompjit__machine *machine = b->machine;
    if (!b->templated) {
        LLVMContextDispose(b->context);
        return;
    }
    LLVMContextSetDiagnosticHandler(b->context, NULL, NULL);
    if (failed || ompjit__stock_is_used_up(machine->stock)) {
        ompjit__stock_free(machine->stock);
        machine->stock = NULL;
    }
}

static void end(struct build *b, bool failed)
{
    if (b->m)
        LLVMDisposeModule(b->m);
    if (b->runtime)
        LLVMDisposeModule(b->runtime);
    if (b->context)
        leave_context(b, failed);
    if (!b->machine)
        return;
    b->machine->plain = b->plain;
    ompjit__machine_give(b->compiler, b->machine);
}

/* A unit or a template: ours, and verified when it was made. */
static ompjit_status parse(struct build *b, const ompjit__buf *bc,
                           LLVMModuleRef *out, ompjit_error *err)
{
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(
        bc->data, bc->size, b->unit->name, false);
    bool failed = LLVMParseBitcodeInContext2(b->context, memory, out);
    LLVMDisposeMemoryBuffer(memory);
    if (!failed)
        return OMPJIT_OK;
    *out = NULL;
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_READ,
                        "%s: its bitcode does not load: %s", b->unit->name,
                        b->messages.data ? b->messages.data : "");
}

static ompjit_status read_unit(struct build *b, ompjit_error *err)
{
    ompjit_status status = parse(b, &b->unit->device_bc, &b->m, err);
    if (!status && b->host)
        ompjit__line_tables(b->m);
    else if (!status && b->unit->own_lines)
        LLVMStripModuleDebugInfo(b->m);
    done(b, OMPJIT_STAGE_READ);
    return status;
}

static ompjit_status instrument(struct build *b, ompjit_error *err)
{
    ompjit_status status = ompjit__run_passes(
        b->m, b->tm, "function(sroa)", OMPJIT_STAGE_SPECIALIZE, err);
    return status ? status : ompjit__instrument(b->m, err);
}

static ompjit_status lower(struct build *b, ompjit_error *err)
{
    ompjit_status status = ompjit__narrow(b->m, b->unit, b->spec, err);
    if (!status)
        status = ompjit__gather_constructors(
            b->m, b->unit,
            b->spec->import_globals ? NULL : &b->image->constructors, err);
    if (!status && b->spec->kernel)
        ompjit__note_acquires(LLVMGetNamedFunction(b->m, b->spec->kernel));
    if (!status)
        ompjit__translate_calls(b->m, b->unit);
    ompjit__share_lastprivate(b->m);
    ompjit__share_scans(b->m);
    if (!status && (b->host || !b->unit->stays_generic))
        status = ompjit__share_globals(b->m, b->host, b->spec, b->image,
                                       err);
    if (!status && !b->spec->import_globals)
        status = ompjit__export_constants(b->m, b->unit, b->image, err);
    if (!status && b->host)
        status = ompjit__host_retarget(b->m, b->tm,
                                       b->unit->chunk_is_default, err);
    if (!status && b->host && b->compiler->checks)
        status = instrument(b, err);
    else if (!status && b->host)
        ompjit__heap_to_stack(b->m);
    if (!status && !b->host) {
        status = ompjit__limit_shared(b->m, err);
        ompjit__keep_recursive_locals(b->m);
        ompjit__bound_threads(b->m, b->unit);
        ompjit__stride_loops(b->m);
    }
    done(b, OMPJIT_STAGE_SPECIALIZE);
    return status;
}

/* Linked is what is used: runtime-bc/local.am makes functions linkonce. */
static ompjit_status take_runtime(struct build *b, LLVMModuleRef *out,
                                  ompjit_error *err)
{
    const char *triple = LLVMGetTarget(b->m);
    ompjit_status status = OMPJIT_OK;
    if (b->plain)
        return ompjit__runtime_read_plain(b->context, &b->messages, out, err);
    *out = b->runtime;
    b->runtime = NULL;
    if (!*out)
        status = ompjit__runtime_read(b->context, triple, &b->messages, out,
                                      err);
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

/* Is the plain runtime enough? Where regions have unusual numbers of arguments,
 * the whole one knows how to call them. */
static bool is_plain(const struct build *b)
{
    return !b->host && b->unit->opt_level &&
           ompjit__is_spmd(b->unit, b->spec) &&
           ompjit__is_plain(b->m) &&
           (LLVMGetNamedFunction(b->m, "ompjit_invoke") ||
            !LLVMGetNamedFunction(b->m, "__kmpc_parallel_60"));
}

/* Of kernels whose teams have several threads. */
static void add_team_forms(struct build *b)
{
    if (!b->unit->opt_level || b->compiler->checks ||
        b->spec->facts.threads.all == 1)
        return;
    for (unsigned i = 0; i < b->unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &b->unit->kernels[i];
        if (k->observes_threads &&
            (!b->spec->kernel || !strcmp(b->spec->kernel, k->symbol)))
            ompjit__add_team_form(b->m, k->symbol, k->mode);
    }
}

static ompjit_status link_runtime(struct build *b, ompjit_error *err)
{
    ompjit__define_invoke(b->m);
    if (!b->host) {
        ompjit__prepare_printf(b->m);
        ompjit__prepare_math(b->m);
        ompjit__prepare_wide(b->m);
    }
    ompjit__barriers_without_number(b->m);
    bool flat = ompjit__is_flat(b->m, b->unit);
    b->plain = flat && is_plain(b);
    LLVMModuleRef runtime;
    ompjit_status status = take_runtime(b, &runtime, err);
    if (status)
        return status;
    size_t mark = b->messages.size;
    bool asks = asks_for_tasks(b->m), events = has_events(b->m);
    if (LLVMLinkModules2(b->m, runtime))
        return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                            "%s does not link with the device runtime: %s",
                            b->unit->name,
                            b->messages.data ? b->messages.data + mark : "");
    if (!asks)
        ompjit__fold_constant(b->m, OMPJIT__FOLD_TASK_KINDS, 1);
    ompjit__fold_constant(b->m, OMPJIT__USE_EVENTS, events);
    ompjit__fold_constant(b->m, OMPJIT__FOLD_FLAT, flat);
    b->spmd = ompjit__fold_mode(b->m, b->unit, b->spec, b->host);
    if (b->host && flat && !events)
        add_team_forms(b);
    ompjit__fold_constant(b->m, OMPJIT__FOLD_LOOPED, 0);
    if (!b->host)
        status = ompjit__link_math(b->m, &b->messages, err);
    done(b, OMPJIT_STAGE_LINK);
    return status;
}

/* A host kernel must not disappear in its entry: its parameters are what
 * literals replace, and what is known of pointers is said of them. */
static void keep_apart(struct build *b, LLVMValueRef f)
{
    static const char *const drop[] = {"alwaysinline", "inlinehint"};
    LLVMSetLinkage(f, LLVMExternalLinkage);
    for (size_t i = 0; i < OMPJIT__COUNT(drop); i++)
        LLVMRemoveEnumAttributeAtIndex(
            f, LLVMAttributeFunctionIndex,
            LLVMGetEnumAttributeKindForName(drop[i], strlen(drop[i])));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(
            b->context, LLVMGetEnumAttributeKindForName("noinline", 8), 0));
}

static void keep_kernel_apart(struct build *b)
{
    for (unsigned form = 0; b->host && form < 2; form++) {
        LLVMValueRef f =
            ompjit__kernel_function(b->m, b->spec->kernel, form);
        if (f)
            keep_apart(b, f);
    }
}

/* Without a template the code is not simplified: whether the kernel finds
 * pointers in memory cannot be told, and LLVM makes nothing of aliases. */
static void say_of_sections(struct build *b, const ompjit__kernel_desc *k)
{
    const ompjit__spec *spec = b->spec;
    if (!b->templated || !(spec->facts.noalias || spec->facts.contents.n) ||
        ompjit__follows_pointers(b->m, k))
        return;
    for (unsigned form = 0; form < 2; form++) {
        LLVMValueRef f = ompjit__kernel_function(b->m, k->symbol, form);
        if (f && !ompjit__acquires(f))
            ompjit__fold_contents(f, k, spec, b->host);
        if (f)
            ompjit__separate_sections(f, spec->facts.noalias, k->launch_env);
    }
}

static void say_of_pointers(struct build *b)
{
    const ompjit__kernel_desc *k = b->unit->kernels;
    const ompjit__kernel_desc *end = k + b->unit->nkernels;
    while (b->spec->kernel && k < end && strcmp(k->symbol, b->spec->kernel))
        k++;
    if (b->spec->kernel && k < end)
        say_of_sections(b, k);
    ompjit__annotate(b->m, b->unit, b->spec);
}

static ompjit_status fold(struct build *b, ompjit_error *err)
{
    ompjit__fold_threads(b->m, b->spec);
    ompjit__fold_teams(b->m, b->spec);
    if (b->spec->kernel)
        keep_kernel_apart(b);
    ompjit_status status =
        ompjit__fold_literals(b->m, b->unit, b->spec, err);
    if (!status)
        say_of_pointers(b);
    done(b, OMPJIT_STAGE_SPECIALIZE);
    return status;
}

/* ------------------------------------------------------------- optimize */

static void preserve(ompjit__buf *passes, const char *name)
{
    bool first = passes->size && passes->data[passes->size - 1] == '<';
    ompjit__buf_printf(passes, "%spreserve-gv=%s", first ? "" : ";", name);
}

/* Code that is dead when shared variables are constants and functions gone. */
#define AFTER_SHARED                                                           \
    "function(instcombine<no-verify-fixpoint>,simplifycfg),globalopt,globaldce"

static void preserve_kernel(struct build *b, ompjit__buf *passes,
                            const char *symbol)
{
    char *entry = ompjit__format("%s.entry", symbol);
    char *team = ompjit__format("%s" OMPJIT__TEAM_SUFFIX, symbol);
    char *body = ompjit__format("%s" OMPJIT__TEAM_BODY_SUFFIX, symbol);
    char *environment = ompjit__format("%s_kernel_environment", symbol);
    if (!b->host || b->is_template)
        preserve(passes, symbol);
    if (b->host && entry)
        preserve(passes, entry);
    if (b->host && team)
        preserve(passes, team);
    if (b->host && b->is_template && body)
        preserve(passes, body);
    if (!b->host && !b->spmd && environment)
        preserve(passes, environment);
    free(entry);
    free(team);
    free(body);
    free(environment);
}

/* What openmp-opt calls in the code that it adds, also when nothing else has
 * called it before. They only read registers. */
static const char *const added[] = {"__kmpc_get_hardware_thread_id_in_block",
                                    "__kmpc_get_hardware_num_threads_in_block",
                                    "__kmpc_get_warp_size"};

static void drop_added(LLVMModuleRef m)
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
    if (b->image->environment && !b->host)
        preserve(passes, OMPJIT__DEVICE_ENVIRONMENT);
    if (!b->host && LLVMGetNamedGlobal(b->m, OMPJIT_ASSERTION_AT))
        preserve(passes, OMPJIT_ASSERTION_AT);
    for (size_t i = 0; !b->host && !b->spmd && i < OMPJIT__COUNT(added); i++)
        preserve(passes, added[i]);
    for (size_t i = 0; b->is_template && ompjit__fold_name(i); i++)
        preserve(passes, ompjit__fold_name(i));
    ompjit__buf_printf(passes, ">");
}

#define CLEAN "function(sroa,early-cse,simplifycfg)"

static ompjit_status openmp_opt(struct build *b, ompjit_error *err)
{
    ompjit__widen_memory_effects(b->m);
    ompjit__mark_synchronization(b->m);
    ompjit_status status = ompjit__run_passes(b->m, b->tm, "openmp-opt",
                                              OMPJIT_STAGE_OPTIMIZE, err);
    ompjit__unmark_synchronization(b->m);
    return status;
}

/* Before LLVM's pipeline, whose own calls of openmp-opt do no more then: they
 * take most of the time of a module of several kernels. Where a kernel is
 * generic, it has to see all of the runtime: the calls of __kmpc_parallel_60,
 * or it takes the workers for idle and removes them, and functions that nobody
 * calls before it does. Where all are SPMD, constants and the inliner leave a
 * third of the runtime, and openmp-opt finds the same in a fifth of the
 * time. */
static ompjit_status run_openmp_opt(struct build *b, ompjit_error *err)
{
    const char *passes =
        b->spmd ? "globaldce,ipsccp,cgscc(inline," CLEAN "),globaldce"
                : "globaldce,always-inline," CLEAN;
    ompjit_status status = OMPJIT_OK;
    if (!b->spmd) {
        status = ompjit__run_passes(b->m, b->tm, CLEAN, OMPJIT_STAGE_OPTIMIZE,
                                    err);
        ompjit__hand_over_values(b->m);
        if (!status)
            status = openmp_opt(b, err);
        ompjit__order_guarded_regions(b->m);
        ompjit__keep_generic(b->m, b->unit);
    }
    ompjit__widen_memory_effects(b->m);
    if (!status)
        status = ompjit__run_passes(b->m, b->tm, passes, OMPJIT_STAGE_OPTIMIZE,
                                    err);
    if (!status)
        status = openmp_opt(b, err);
    ompjit__forget_generic(b->m);
    return status;
}

/* Of a plain kernel the runtime's part is small, and calls each region at one
 * place: one function is left, and constants, before LLVM's pipeline begins. */
#define JOIN "always-inline,globaldce," CLEAN ","

/* Loops round the ranges of a team (runtime-bc), which have no second round:
 * the pipeline sees that too late to simplify what is left. */
#define DROP_ROUNDS                                                            \
    ",function(loop(loop-deletion),simplifycfg,early-cse<memssa>,"             \
    "instcombine<no-verify-fixpoint>,simplifycfg)"

/* In the end what only functions that are gone have read goes. */
static ompjit_status run_llvm_pipeline(struct build *b, bool simplify,
                                       ompjit_error *err)
{
    char passes[240];
    snprintf(passes, sizeof passes, "%s%s<O%u>%s",
             b->host    ? "globaldce,"
             : b->plain ? JOIN
                        : "",
             simplify ? "thinlto-pre-link" : "default",
             b->unit->opt_level,
             simplify ? DROP_ROUNDS : ",globalopt,globaldce");
    return ompjit__run_passes(b->m, b->tm, passes, OMPJIT_STAGE_OPTIMIZE, err);
}

/* A template's kernels and loops are one function, of which a variant can say
 * what it knows of parameters. */
#define JOIN_LOOPS                                                             \
    "cgscc(inline,function(sroa,early-cse<memssa>,simplifycfg)),globaldce"

/* Loops over threads are made of simplified code: a template's, or what is
 * simplified for them. */
static ompjit_status optimize_host(struct build *b, ompjit_error *err)
{
    bool teams = !b->templated && ompjit__has_team_forms(b->m);
    ompjit_status status = OMPJIT_OK;
    if (teams || b->is_template)
        status = run_llvm_pipeline(b, true, err);
    if (!status && teams)
        ompjit__loop_teams(b->m);
    if (!status && teams && b->is_template)
        status = ompjit__run_passes(b->m, b->tm, JOIN_LOOPS,
                                    OMPJIT_STAGE_OPTIMIZE, err);
    if (!status && !b->is_template)
        status = run_llvm_pipeline(b, false, err);
    return status;
}

/* Barriers of regions that have been inlined stand at a kernel's ends, which
 * openmp-opt sees when nothing of the runtime is left before and behind them.
 * Its time grows with the square of what there is, minutes for 20,000
 * instructions, and where there is much it finds nothing. */
static ompjit_status drop_barriers(struct build *b, ompjit_error *err)
{
    enum { MUCH = 3000 };
    if (ompjit__instruction_count(b->m) > MUCH)
        return OMPJIT_OK;
    ompjit__add_openmp_flags(b->m);
    ompjit_status status = openmp_opt(b, err);
    if (!status)
        status = ompjit__run_passes(b->m, b->tm, "function(simplifycfg)",
                                    OMPJIT_STAGE_OPTIMIZE, err);
    ompjit__forget_stack_accesses(b->m);
    ompjit__drop_openmp_flags(b->m);
    return status;
}

/* Of a GPU's code: what shows only now that it is one with the runtime. */
static ompjit_status clean_up(struct build *b, bool openmp, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    bool numbered = ompjit__number_regions(b->m);
    if (ompjit__fold_shared(b->m) || numbered)
        status = ompjit__run_passes(b->m, b->tm, AFTER_SHARED,
                                    OMPJIT_STAGE_OPTIMIZE, err);
    if (!status && openmp && b->unit->opt_level)
        status = drop_barriers(b, err);
    return status;
}

static ompjit_status run_pipeline(struct build *b, ompjit_error *err)
{
    bool openmp = LLVMGetModuleFlag(b->m, "openmp", 6) != NULL;
    ompjit__buf passes = {0};
    internalize_pass(b, &passes);
    ompjit_status status =
        passes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE)
                      : ompjit__run_passes(b->m, b->tm, passes.data,
                                           OMPJIT_STAGE_OPTIMIZE, err);
    ompjit__buf_free(&passes);
    if (!status && !b->host && !b->plain && b->unit->opt_level)
        status = run_openmp_opt(b, err);
    if (!b->host) {
        ompjit__forget_stack_accesses(b->m);
        ompjit__drop_openmp_flags(b->m);
    }
    if (!b->host && !b->is_template)
        drop_added(b->m);
    if (!status)
        status = b->host ? optimize_host(b, err)
                         : run_llvm_pipeline(b, b->is_template, err);
    if (!b->host && b->is_template && openmp)
        ompjit__add_openmp_flags(b->m); /* a variant's openmp-opt asks again */
    if (!status && !b->host && !b->is_template)
        status = clean_up(b, openmp, err);
    return status;
}

/* openmp-opt has decided which generic kernels are SPMD. */
static ompjit_status settle_modes(struct build *b, ompjit_error *err)
{
    bool found = ompjit__take_modes(b->m, b->unit, &b->image->modes);
    if (b->image->modes.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    return found ? ompjit__run_passes(b->m, b->tm, "globaldce",
                                      OMPJIT_STAGE_OPTIMIZE, err)
                 : OMPJIT_OK;
}

static void find_environment(struct build *b)
{
    LLVMValueRef environment =
        LLVMGetNamedGlobal(b->m, OMPJIT__DEVICE_ENVIRONMENT);
    b->image->environment = environment && LLVMGetFirstUse(environment);
}

/* Is nothing left in a template's module but its kernel and, on the host, the
 * entry; in two forms perhaps? */
static bool is_simple(const struct build *b)
{
    unsigned defined = 0, forms = 1;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->m); f;
         f = LLVMGetNextFunction(f))
        defined += !LLVMIsDeclaration(f);
    if (b->host && ompjit__kernel_function(b->m, b->spec->kernel, 1))
        forms = 2;
    return b->templated && b->unit->opt_level > 1 &&
           defined <= forms * (b->host ? 2 : 1);
}

/* What a template's module has is internal already, but for the kernel: the
 * host's has an entry, a GPU's is nobody else's to define. */
static ompjit_status run_lean(struct build *b, ompjit_error *err)
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

static ompjit_status optimize(struct build *b, ompjit_error *err)
{
    find_environment(b);
    b->passes = is_simple(b) ? OMPJIT__PASSES_LEAN : OMPJIT__PASSES_ALL;
    ompjit_status status = b->passes == OMPJIT__PASSES_LEAN
                               ? run_lean(b, err)
                               : run_pipeline(b, err);
    if (!status && b->host) {
        ompjit__drop_outer_barriers(b->m);
        ompjit__yield_in_wait_loops(b->m);
        ompjit__drop_waiting_team_forms(b->m);
        ompjit__tell_independent(b->m);
        status = ompjit__host_finish(b->m, err);
    }
    if (!status && !b->host)
        status = settle_modes(b, err);
    done(b, OMPJIT_STAGE_OPTIMIZE);
    return status;
}

/* ------------------------------------------------------------- template */

static ompjit_status from_unit(struct build *b, ompjit_error *err)
{
    ompjit_status status = read_unit(b, err);
    if (!status)
        status = lower(b, err);
    if (!status)
        status = link_runtime(b, err);
    return status;
}

static ompjit_status compile_template(void *arg, ompjit_error *err)
{
    struct build *b = arg;
    ompjit_status status = start(b, err);
    if (!status)
        status = from_unit(b, err);
    if (!status) {
        if (b->spec->facts.threads.all)
            ompjit__fold_threads(b->m, b->spec);
        keep_kernel_apart(b);
        find_environment(b);
        status = run_pipeline(b, err);
        done(b, OMPJIT_STAGE_OPTIMIZE);
    }
    if (!status)
        status = verify(b, err);
    if (!status) {
        LLVMMemoryBufferRef bc = LLVMWriteBitcodeToMemoryBuffer(b->m);
        ompjit__buf_add(&b->image->bytes, LLVMGetBufferStart(bc),
                        LLVMGetBufferSize(bc));
        LLVMDisposeMemoryBuffer(bc);
        if (b->image->bytes.failed)
            status = ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    }
    end(b, status != OMPJIT_OK);
    return status;
}

/* For a build `like`, but with nothing folded except a team of one thread. */
static ompjit_status make_template(void *arg, ompjit__template *t,
                                   ompjit_error *err)
{
    struct build *like = arg;
    ompjit__image image = {0};
    ompjit__spec spec = {.kernel = t->kernel,
                         .facts.threads.all = t->alone ? 1 : 0,
                         .ptx = t->ptx,
                         .import_globals = t->import_globals};
    struct build b = {.compiler = like->compiler,
                      .unit = like->unit,
                      .arch = like->arch,
                      .spec = &spec,
                      .host = like->host,
                      .is_template = true,
                      .image = &image,
                      .stage_start = ompjit__now()};
    ompjit_status status =
        ompjit__guard(compile_template, &b, OMPJIT_STAGE_LINK, err);
    ompjit__buf_free(&b.messages);
    like->stage_start = ompjit__now();
    if (status) {
        ompjit__image_free(&image);
        return status;
    }
    t->spmd = b.spmd;
    t->plain = b.plain;
    t->bc = image.bytes;
    t->constructors = image.constructors;
    t->globals = image.globals;
    t->nglobals = image.nglobals;
    return OMPJIT_OK;
}

static ompjit_status copy_globals(struct build *b, const ompjit__template *t,
                                  ompjit_error *err)
{
    ompjit__image *image = b->image;
    image->imports_globals = t->import_globals;
    image->constructors = t->constructors;
    image->globals = calloc(t->nglobals + 1, sizeof *image->globals);
    for (unsigned i = 0; image->globals && i < t->nglobals; i++) {
        image->globals[i] = (ompjit__variable){
            ompjit__strdup(t->globals[i].name), t->globals[i].size};
        if (!image->globals[i].name)
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
        image->nglobals++;
    }
    return image->globals ? OMPJIT_OK
                          : ompjit__no_memory(err, OMPJIT_STAGE_LINK);
}

static ompjit_status copy_module(struct build *b, const ompjit__template *t,
                                 ompjit_error *err)
{
    ompjit__stock *stock = b->machine->stock;
    LLVMModuleRef m = ompjit__stock_find(stock, t->number);
    if (!m) {
        ompjit_status status = parse(b, &t->bc, &m, err);
        if (status)
            return status;
        ompjit__stock_keep(stock, t->number, m);
    }
    b->m = LLVMCloneModule(m);
    return OMPJIT_OK;
}

static ompjit_status from_template(struct build *b, ompjit_error *err)
{
    ompjit__template key = {.kernel = (char *)b->spec->kernel,
                            .arch = (char *)b->arch->name,
                            .ptx = ompjit__ptx_version(b->arch, b->spec->ptx),
                            .alone = b->spec->facts.threads.all == 1,
                            .import_globals = b->spec->import_globals};
    const ompjit__template *t;
    ompjit_status status = ompjit__template_get(b->unit->templates, &key,
                                                make_template, b, &t, err);
    if (!status)
        status = copy_module(b, t, err);
    done(b, OMPJIT_STAGE_READ);
    if (!status)
        status = copy_globals(b, t, err);
    if (status)
        return status;
    b->spmd = t->spmd;
    b->plain = t->plain;
    return OMPJIT_OK;
}

/* ------------------------------------------------------------- generate */

/* A function of the OpenMP runtime that is left undefined is one that device
 * code does not have. */
static bool is_foreign(LLVMValueRef f)
{
    static const char *const prefixes[] = {"omp_", "ompx_", "__kmpc_", "kmp_",
                                           "__tgt_", "llvm_omp_"};
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f))
        return false;
    for (size_t i = 0; i < OMPJIT__COUNT(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static ompjit_status check_undefined(struct build *b, ompjit_error *err)
{
    ompjit__buf names = {0};
    ompjit_status status = OMPJIT_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        if (is_foreign(f))
            ompjit__buf_printf(&names, "%s%s", names.size ? ", " : "",
                               LLVMGetValueName2(f, &n));
    }
    if (names.size)
        status = ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                              "%s: device code calls %s, which only host code "
                              "can", b->unit->name, names.data);
    ompjit__buf_free(&names);
    return status;
}

/* What code needs a newer PTX than the architecture does LLVM knows. */
static ompjit_status emit_ptx(struct build *b, ompjit__generator *generator,
                              ompjit_error *err)
{
    ompjit_error why;
    unsigned newest = b->spec->ptx;
    ompjit_status status = ompjit__nvptx_emit(b->m, b->tm, generator, b->passes,
                                              &b->image->bytes, &why);
    if (status && newest && newest < b->arch->ptx_given)
        return ompjit__fail(err, status, why.stage,
                            "%s; the driver reads PTX up to %u.%u", why.text,
                            newest / 10, newest % 10);
    if (status && err)
        *err = why;
    return status;
}

static ompjit_status generate(struct build *b, ompjit_error *err)
{
    ompjit__generator *generator =
        b->templated ? ompjit__stock_generator(b->machine->stock) : NULL;
    ompjit_status status = verify(b, err);
    if (!status)
        status = check_undefined(b, err);
    if (!b->host) {
        ompjit__order_shared(b->m);
        ompjit__lower_local(b->m);
    }
    if (status)
        return status;
    if (b->format == OMPJIT_FORMAT_OPT_LL) {
        char *text = LLVMPrintModuleToString(b->m);
        ompjit__buf_add(&b->image->bytes, text, strlen(text));
        LLVMDisposeMessage(text);
    } else if (b->format == OMPJIT__FORMAT_ASSEMBLY) {
        LLVMSetTargetMachineAsmVerbosity(b->tm, true); /* tells of spills */
        status = ompjit__emit_assembly(b->m, b->tm, NULL, b->passes,
                                       &b->image->bytes, err);
    } else if (b->host) {
        b->image->kind = OMPJIT__IMAGE_OBJECT;
        status = ompjit__emit_object(b->m, b->tm, generator, b->passes,
                                     &b->image->bytes, err);
    } else {
        b->image->kind = OMPJIT__IMAGE_PTX;
        status = emit_ptx(b, generator, err);
    }
    if (!status && b->image->bytes.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    done(b, OMPJIT_STAGE_CODEGEN);
    return status;
}

static ompjit_status assemble(struct build *b, ompjit_error *err)
{
    if (b->format != OMPJIT_FORMAT_CUBIN)
        return OMPJIT_OK;
    ompjit__buf ptx = b->image->bytes;
    b->image->bytes = (ompjit__buf){0};
    ompjit_status status =
        ompjit__assemble(b->compiler, b->arch->name, &ptx, b->image, err);
    ompjit__buf_free(&ptx);
    done(b, OMPJIT_STAGE_ASSEMBLE);
    return status;
}

static ompjit_status compile(void *arg, ompjit_error *err)
{
    struct build *b = arg;
    b->templated =
        b->spec->kernel && b->unit->templates && b->unit->opt_level;
    ompjit_status status = start(b, err);
    if (!status)
        status = b->templated ? from_template(b, err) : from_unit(b, err);
    if (!status)
        status = fold(b, err);
    if (!status)
        status = optimize(b, err);
    if (!status)
        status = generate(b, err);
    end(b, status != OMPJIT_OK);
    return status;
}

/* Does the format exist for the target? */
static ompjit_status check_format(const struct build *b, ompjit_error *err)
{
    bool fits = b->format == OMPJIT_FORMAT_OPT_LL ||
                (b->host ? b->format == OMPJIT_FORMAT_OBJECT ||
                               b->format == OMPJIT__FORMAT_ASSEMBLY
                         : b->format == OMPJIT_FORMAT_PTX ||
                               b->format == OMPJIT_FORMAT_CUBIN);
    if (fits)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "no such format for %s: %s", b->arch->name,
                        b->host ? "the host takes objects and optimized IR"
                                : "a GPU takes PTX, cubins and optimized IR");
}

/* NVRTC writes the PTX of its own release, of which an older driver knows
 * nothing. Assemblers, which come with NVRTC, read it. */
static ompjit_status check_driver(const struct build *b, ompjit_error *err)
{
    unsigned newest = b->spec->ptx;
    unsigned is = b->image->kind == OMPJIT__IMAGE_PTX
                      ? ompjit__ptx_text_version(b->image->bytes.data)
                      : 0;
    if (!newest || is <= newest)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
                        "%s: the driver is too old for this NVRTC: it reads "
                        "PTX up to %u.%u, not %u.%u", b->unit->name,
                        newest / 10, newest % 10, is / 10, is % 10);
}

/* A CUDA source for a GPU: NVRTC's PTX takes the place of the whole pipeline up
 * to the assembler, which is run here. False: clang's IR is to be used, as any
 * IR is. */
static bool from_cuda(struct build *b, ompjit_status *status,
                      ompjit_error *err)
{
    ompjit_error why;
    const ompjit__unit *unit = b->unit;
    bool ir = unit->device_bc.size != 0;
    if (b->host || b->format == OMPJIT_FORMAT_OPT_LL ||
        !ompjit__cuda_by_nvrtc(unit)) {
        *status = ir ? OMPJIT_OK : ompjit__cuda_no_ir(unit->cuda, err);
        return !ir;
    }
    b->image->kind = OMPJIT__IMAGE_PTX;
    *status = ompjit__cuda_ptx(b->compiler, unit, b->arch->name, b->spec,
                               &b->image->bytes, &why);
    b->image->environment =
        !*status && strstr(b->image->bytes.data, OMPJIT__DEVICE_ENVIRONMENT);
    b->stage_start = ompjit__now();
    if (!*status && (*status = assemble(b, err)))
        return true;
    if (!*status)
        *status = check_driver(b, &why);
    if (*status && ir && unit->cuda->compiler == OMPJIT_CUDA_COMPILER_AUTO) {
        ompjit__buf_free(&b->image->bytes);
        b->image->environment = false;
        ompjit__report(b->compiler, "%s for %s by clang: %s", unit->name,
                    b->arch->name, why.text);
        return false;
    }
    if (*status && err)
        *err = why;
    return true;
}

static ompjit_status make_image(struct build *b, ompjit_error *err)
{
    ompjit_status status;
    if (b->unit->cuda && from_cuda(b, &status, err))
        return status;
    status = ompjit__guard_within(b->compiler->llvm_limit_ms, compile, b,
                                  OMPJIT_STAGE_CODEGEN, err);
    return status ? status : assemble(b, err);
}

ompjit_status ompjit__build(ompjit__compiler *compiler,
                            const ompjit__unit *unit,
                            const char *arch, ompjit_format format,
                            const ompjit__spec *spec, ompjit__image *out,
                            ompjit_error *err)
{
    ompjit__image image = {0};
    struct build b = {.compiler = compiler,
                      .unit = unit,
                      .format = format,
                      .spec = spec,
                      .image = &image,
                      .stage_start = ompjit__now()};
    ompjit_status status = ompjit__arch_find(arch, &b.arch, err);
    if (status)
        return status;
    b.host = b.arch->triple != NULL;
    status = check_format(&b, err);
    if (status)
        return status;
    snprintf(image.arch, sizeof image.arch, "%s", arch);
    status = make_image(&b, err);
    image.lines = !unit->own_lines;
    ompjit__buf_free(&b.messages);
    if (status)
        ompjit__image_free(&image);
    else
        *out = image;
    return status;
}
