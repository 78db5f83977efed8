/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles the host half of a unit to objects for this CPU, in the order in
 * which `prepare` and `generate` read:
 *
 *   parse      the unit's host bitcode, as clang made it, without passes, if it
 *              has not just been read
 *   continued.c  takes the loops of a prompt's input out of it
 *   share/     marks data regions; needs the code unoptimized
 *   rewrite.c  repairs, binds and reads it
 *   parts.cc   divides it; what follows is done for each part
 *   passes     LLVM's own default<O...> for the unit's level
 *   object     LLVM's code generator
 *
 * Remarks of the passes come from a compile of the whole half that makes no
 * object.
 *
 * All of it runs under the guard of llvm/llvm.h, with the time limit.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "backend/backend.h"
#include "frontend/frontend.h"
#include "llvm/llvm.h"
#include "llvm/options.h"
#include "llvm/remarks.h"
#include "optimizer/remark.h"
#include "passes/hosthalf/hosthalf.h"
#include "passes/hosthalf/parts.h"
#include "passes/hosthalf/share/share.h"

/* An LLVM context for this unit only, so that types and names of others cannot
 * meet its own. The machine is the compiler's, and outlives it: it takes half a
 * millisecond to make, and as long again to learn the features that the first
 * function has. `facts` is all of a half but its object. */
struct ompjit__half_source {
    ompjit__compiler *compiler;
    ompjit__early *early; /* whose the context is; NULL: its own */
    ompjit__buf messages; /* of its own context                  */
    LLVMContextRef context;
    ompjit__machine *machine;
    LLVMTargetMachineRef tm;      /* the machine's        */
    ompjit__generator *generator; /* of tm, for all parts */
    LLVMModuleRef m;
    ompjit__parts *parts; /* NULL: not divided */
    ompjit__host_half facts;
    unsigned opt_level;
    ompjit__opts opts;
    bool in_use;    /* by prepare() or generate()          */
    bool no_memory; /* for a string of `facts`             */
};

/* The job of prepare() and generate(), for ompjit__guard_within. */
struct work {
    ompjit__compiler *compiler;
    const ompjit__unit *unit; /* of prepare */
    bool divide;              /* of prepare */
    ompjit__half_source *source;
    size_t part;          /* of generate */
    ompjit__buf *object;  /* of generate */
    ompjit__buf *remarks; /* of optimize */
};

/* Reports a stage's time to the context, and begins the next one. */
static void stage_done(struct work *w, ompjit_stage stage, uint64_t *start)
{
    ompjit__report_stage(w->compiler, stage, *start);
    *start = ompjit__now();
}

/* ---------------------------------------------------------------- prepare */

/* One more string at the end of a list. */
static void add_string(ompjit__half_source *s, char ***list, size_t *n,
                       const char *string)
{
    char **more = realloc(*list, (*n + 1) * sizeof *more);
    char *copy = ompjit__strdup(string);
    if (more)
        *list = more;
    if (more && copy)
        more[(*n)++] = copy;
    else
        free(copy);
    s->no_memory |= !more || !copy;
}

static void want(void *source, const char *name)
{
    ompjit__half_source *s = source;
    add_string(s, &s->facts.wants, &s->facts.nwants, name);
}

/* Is it a program, and not a library's code? Then its functions are called from
 * main, and all callers are known. */
static bool has_main(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, "main");
    return f && !LLVMIsDeclaration(f);
}

static void divide(ompjit__half_source *s)
{
    ompjit__host_half *facts = &s->facts;
    s->parts = ompjit__parts_new(s->m, has_main(s->m));
    size_t n = s->parts ? ompjit__parts_count(s->parts) : 0;
    for (size_t i = 1; i < n; i++)
        add_string(s, &facts->parts, &facts->nparts,
                   ompjit__parts_name(s->parts, i));
    if (n)
        ompjit__parts_wants(s->parts, want, s);
}

static ompjit_status parse(ompjit__half_source *s, const ompjit__unit *unit,
                           ompjit_error *err)
{
    s->context = ompjit__llvm_context(&s->messages);
    return ompjit__parse_ir(s->context, unit->host_bc.data, unit->host_bc.size,
                            unit->name, &s->messages, &s->m, err);
}

/* The module's name is a part of error messages. */
static ompjit_status adopt(ompjit__half_source *s, const ompjit__unit *unit)
{
    s->context = ompjit__early_context(s->early);
    LLVMSetModuleIdentifier(s->m, unit->name, strlen(unit->name));
    return OMPJIT_OK;
}

static ompjit_status take_machine(ompjit__half_source *s,
                                  const ompjit__unit *unit, ompjit_error *err)
{
    ompjit__machine like = {.opt_level = unit->opt_level,
                            .emulated_tls = true};
    ompjit_status status = ompjit__arch_find("host", &like.arch, err);
    if (!status)
        status = ompjit__machine_take(s->compiler, &like, &s->machine, err);
    if (!status)
        s->tm = s->machine->tm;
    return status;
}

/* Sharing comes first: repair.c, in ompjit__host_prepare, and binding change
 * calls that the walk knows by their names. */
static ompjit_status prepare(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    const ompjit__unit *unit = w->unit;
    ompjit__half_source *s = w->source;
    uint64_t start = ompjit__now();
    s->in_use = true;
    s->m = s->early ? ompjit__early_take_host(s->early) : NULL;
    ompjit_status status = s->m ? adopt(s, unit) : parse(s, unit, err);
    if (!status)
        status = take_machine(s, unit, err);
    if (!status) {
        if (s->opt_level)
            ompjit__host_continue(s->m);
        ompjit__host_share(w->compiler, s->m, unit,
                           has_main(s->m) ? OMPJIT__CALLERS_NONE
                                          : OMPJIT__CALLERS_OUTSIDE);
        status = ompjit__host_prepare(s->m, s->tm, &s->facts, err);
    }
    if (!status && w->divide)
        divide(s);
    if (!status && s->no_memory)
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    stage_done(w, OMPJIT_STAGE_READ, &start);
    s->in_use = false;
    return status;
}

ompjit_status ompjit__half_open(ompjit__compiler *compiler,
                                const ompjit__unit *unit, bool divide,
                                ompjit__early *early,
                                ompjit__half_source **out, ompjit_error *err)
{
    ompjit__half_source *s = calloc(1, sizeof *s);
    if (!s)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    s->compiler = compiler;
    s->opt_level = unit->opt_level > 3 ? 3 : unit->opt_level;
    s->opts = unit->opts;
    s->opts.functions = NULL; /* the unit's, and of device code alone */
    s->early = early ? ompjit__early_hold(early) : NULL;
    struct work w = {.compiler = compiler, .unit = unit, .divide = divide,
                     .source = s};
    ompjit_status status = ompjit__guard_within(
        compiler->llvm_limit_ms, prepare, &w, OMPJIT_STAGE_CODEGEN, err);
    if (status)
        ompjit__half_close(s);
    else
        *out = s;
    return status;
}

static LLVMContextRef shared_context(const ompjit__half_source *s)
{
    return s->early ? ompjit__early_context(s->early) : NULL;
}

/* A source that a guard left in the middle is lost, not freed. */
void ompjit__half_close(ompjit__half_source *s)
{
    if (!s || s->in_use)
        return;
    ompjit__parts_free(s->parts);
    ompjit__generator_free(s->generator);
    if (s->machine)
        ompjit__machine_give(s->compiler, s->machine);
    if (s->m)
        LLVMDisposeModule(s->m);
    if (s->context && s->context != shared_context(s))
        LLVMContextDispose(s->context);
    ompjit__early_free(s->early);
    ompjit__buf_free(&s->messages);
    ompjit__host_half_free(&s->facts);
    free(s);
}

const ompjit__host_half *ompjit__half_facts(const ompjit__half_source *s)
{
    return &s->facts;
}

/* --------------------------------------------------------------- generate */

static ompjit_status run_passes(const ompjit__half_source *s, LLVMModuleRef m,
                                ompjit_error *err)
{
    char passes[] = "default<O3>";
    passes[sizeof "default<O" - 1] = (char)('0' + s->opt_level);
    ompjit__llvm_options_begin(&s->opts);
    ompjit_status status =
        ompjit__run_passes(m, s->tm, passes, OMPJIT_STAGE_OPTIMIZE, err);
    ompjit__llvm_options_end();
    return status;
}

/* Times are reported on failure, too. */
static ompjit_status generate_module(struct work *w, LLVMModuleRef m,
                                     ompjit_error *err)
{
    ompjit__half_source *s = w->source;
    LLVMTargetMachineRef tm = s->tm;
    uint64_t start = ompjit__now();
    ompjit_status status = run_passes(s, m, err);
    stage_done(w, OMPJIT_STAGE_OPTIMIZE, &start);
    if (!status && !s->generator)
        s->generator = ompjit__generator_new(tm, LLVMObjectFile);
    if (!status)
        status = ompjit__emit_object(m, tm, s->generator, OMPJIT__PASSES_ALL,
                                     w->object, err);
    stage_done(w, OMPJIT_STAGE_CODEGEN, &start);
    return status;
}

static ompjit_status generate(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    ompjit__half_source *s = w->source;
    s->in_use = true;
    LLVMModuleRef m =
        s->parts ? ompjit__parts_take(s->parts, w->part) : s->m;
    ompjit_status status = generate_module(w, m, err);
    if (s->parts)
        LLVMDisposeModule(m);
    s->in_use = false;
    return status;
}

ompjit_status ompjit__half_generate(ompjit__compiler *compiler,
                                    ompjit__half_source *source, size_t part,
                                    ompjit__buf *object, ompjit_error *err)
{
    if (part > source->facts.nparts)
        return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_CODEGEN,
                            "the host half has no part %zu", part);
    struct work w = {.compiler = compiler, .source = source, .part = part,
                     .object = object};
    return ompjit__guard_within(compiler->llvm_limit_ms, generate, &w,
                                OMPJIT_STAGE_CODEGEN, err);
}

/* ---------------------------------------------------------------- remarks */

static ompjit_status optimize(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    ompjit__half_source *s = w->source;
    s->in_use = true;
    ompjit__remarks_begin(s->context, w->remarks);
    ompjit_status status = run_passes(s, s->m, err);
    ompjit__remarks_end(s->context);
    if (!status && !ompjit__remarks_unite(w->remarks))
        status = ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
    s->in_use = false;
    return status;
}

ompjit_status ompjit__half_remarks(ompjit__compiler *compiler,
                                   const ompjit__unit *unit,
                                   ompjit__buf *remarks, ompjit_error *err)
{
    struct work w = {.compiler = compiler, .remarks = remarks};
    ompjit_status status =
        ompjit__half_open(compiler, unit, false, NULL, &w.source, err);
    if (!status)
        status = ompjit__guard_within(compiler->llvm_limit_ms, optimize, &w,
                                      OMPJIT_STAGE_OPTIMIZE, err);
    ompjit__half_close(w.source);
    return status;
}
