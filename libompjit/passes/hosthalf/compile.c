/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles the host half of a unit to an object for this CPU, in the order in
 * which compile_module reads:
 *
 *   parse      the unit's host bitcode, as clang made it, without passes
 *   share.c    marks data regions; needs the code unoptimized
 *   rewrite.c  repairs, binds and reads it
 *   passes     LLVM's own default<O...> for the unit's level
 *   object     LLVM's code generator
 *
 * All of it runs under the guard of llvm/llvm.h, with the time limit.
 */
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "backend/codegen/emit.h"
#include "backend/host/host.h"
#include "llvm/llvm.h"
#include "passes/hosthalf/hosthalf.h"

/* The job of compile(), for ompjit__guard_within. `half` is filled step by
 * step, and freed if a later step fails. */
struct work {
    ompjit__compiler *compiler;
    const ompjit__unit *unit;
    ompjit__host_half half;
};

/* Reports a stage's time to the context, and begins the next one. */
static void stage_done(struct work *w, ompjit_stage stage, uint64_t *start)
{
    ompjit__report_stage(w->compiler, stage, *start);
    *start = ompjit__now();
}

/* Sharing comes first: repair.c, in ompjit__host_prepare, and binding change
 * calls that the walk knows by their names. Times are reported on failure,
 * too. */
static ompjit_status compile_module(struct work *w, LLVMModuleRef m,
                                    LLVMTargetMachineRef tm, ompjit_error *err)
{
    unsigned level = w->unit->opt_level;
    char passes[] = "default<O3>";
    passes[sizeof "default<O" - 1] = (char)('0' + (level > 3 ? 3 : level));
    uint64_t start = ompjit__now();
    ompjit__host_share(w->compiler, m, w->unit);
    ompjit_status status = ompjit__host_prepare(m, tm, &w->half, err);
    stage_done(w, OMPJIT_STAGE_READ, &start);
    if (!status)
        status = ompjit__run_passes(m, tm, passes, OMPJIT_STAGE_OPTIMIZE, err);
    stage_done(w, OMPJIT_STAGE_OPTIMIZE, &start);
    if (!status)
        status = ompjit__emit_object(m, tm, NULL, OMPJIT__PASSES_ALL,
                                     &w->half.object, err);
    stage_done(w, OMPJIT_STAGE_CODEGEN, &start);
    return status;
}

/* Makes and destroys everything of LLVM's: an LLVM context for this unit only,
 * so that types and names of others cannot meet its own. */
static ompjit_status compile(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    const ompjit__unit *unit = w->unit;
    ompjit__buf messages = {0};
    LLVMContextRef context = ompjit__llvm_context(&messages);
    LLVMTargetMachineRef tm = NULL;
    LLVMModuleRef m = NULL;
    ompjit_status status =
        ompjit__parse_ir(context, unit->host_bc.data, unit->host_bc.size,
                         unit->name, &messages, &m, err);
    if (!status)
        status = ompjit__host_machine(unit->opt_level, true, &tm, err);
    if (!status)
        status = compile_module(w, m, tm, err);
    if (tm)
        LLVMDisposeTargetMachine(tm);
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
    return status;
}

ompjit_status ompjit__half_compile(ompjit__compiler *compiler,
                                   const ompjit__unit *unit,
                                   ompjit__host_half *out, ompjit_error *err)
{
    struct work w = {.compiler = compiler, .unit = unit};
    ompjit_status status = ompjit__guard_within(
        compiler->llvm_limit_ms, compile, &w, OMPJIT_STAGE_CODEGEN, err);
    if (status)
        ompjit__host_half_free(&w.half);
    else
        *out = w.half;
    return status;
}
