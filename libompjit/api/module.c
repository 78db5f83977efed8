/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Modules: made from C, Fortran or IR, written in any format, and their host half as
 * functions of this process.
 *
 * A module owns its unit, its kernels, its variants and its host half. Its unit
 * never changes, so emitting and launching need no lock of the module's; that
 * lock is for the host half.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/module.h"
#include "api/opt.h"
#include "base/structs.h"
#include "launch/module.h"
#include "omptarget/offload.h"
#include "core/cuda_source.h"
#include "device/engine/fault.h"
#include "function/function.h"
#include "core/prebuilt.h"
#include "core/template.h"
#include "cache/cache.h"
#include "door/door.h"
#include "frontend/clang/clang.h"
#include "frontend/flang/flang.h"

static const char options_name[] = "ompjit_module_options";

/* INVALID where an array is missing, or an option of the optimizer is wrong. */
static ompjit_status check_arrays(const ompjit_module_options *o,
                                  ompjit_error *err)
{
    ompjit__opts opts = {0};
    if (o->nflags && !o->flags)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: %u flags, but no array", options_name,
                            o->nflags);
    ompjit_status status =
        ompjit__opts_read(options_name, o->opts, o->nopts, &opts, err);
    ompjit__opts_free(&opts);
    return status;
}

/* They are a part of what its images depend on. */
static bool give_opts(const ompjit_context *ctx, ompjit__unit *unit,
                      const ompjit_module_options *o)
{
    ompjit__opts_free(&unit->opts);
    return ompjit__opts_copy(&unit->opts, &ctx->opts) &&
           !ompjit__opts_read(options_name, o->opts, o->nopts, &unit->opts,
                              NULL) &&
           (!unit->opts.given || ompjit__unit_seal(unit));
}

const ompjit_module_options *
ompjit__module_options(const ompjit_module_options *options,
                       ompjit_module_options *room, ompjit_error *err)
{
    const ompjit_module_options *o =
        ompjit__options(OMPJIT__STRUCT_module_options, options, room, err);
    if (!o || check_arrays(o, err))
        return NULL;
    return o;
}

static void describe_kernels(ompjit_module *mod)
{
    for (unsigned i = 0; i < mod->unit.nkernels; i++) {
        mod->kernels[i].eligible = ompjit__eligible(&mod->unit.kernels[i]);
        mod->kernels[i].contents =
            ompjit__small_structs(&mod->unit.kernels[i]);
    }
}

/* The unit becomes the module's; on failure it is freed. */
ompjit_status ompjit__module_new(ompjit_context *ctx, ompjit__unit *unit,
                                 const ompjit_module_options *o,
                                 ompjit_module **out, ompjit_error *err)
{
    ompjit_module *mod = calloc(1, sizeof *mod);
    ompjit_kernel *kernels = calloc(unit->nkernels + 1, sizeof *kernels);
    if (!mod || !kernels || !give_opts(ctx, unit, o)) {
        free(mod);
        free(kernels);
        ompjit__unit_free(unit);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    mod->ctx = ctx;
    mod->unit = *unit;
    mod->kernels = kernels;
    ompjit__fork_lock_init(&mod->at_fork, &mod->lock);
    ompjit__variants_init(&mod->variants);
    for (unsigned i = 0; i < unit->nkernels; i++) {
        kernels[i].mod = mod;
        kernels[i].index = i;
        atomic_flag_clear(&kernels[i].last_lock);
    }
    describe_kernels(mod);
    *out = mod;
    return OMPJIT_OK;
}

/* The front ends that take source text. */
typedef ompjit_status from_source(ompjit_context *ctx, const char *source,
                                  const ompjit_module_options *options,
                                  ompjit__unit *out, ompjit_error *err);

/* A context that checks needs line numbers, whatever the flags say. Line tables
 * come last among the flags, so that they win over -g0. */
static ompjit_status compile(from_source *front_end, ompjit_context *ctx,
                             const char *source,
                             const ompjit_module_options *o,
                             ompjit__unit *unit, ompjit_error *err)
{
    if (!ctx->check)
        return front_end(ctx, source, o, unit, err);
    ompjit_module_options with_lines = *o;
    const char **flags = calloc(o->nflags + 1u, sizeof *flags);
    if (!flags)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    for (unsigned i = 0; i < o->nflags; i++)
        flags[i] = o->flags[i];
    flags[o->nflags] = "-g";
    with_lines.flags = flags;
    with_lines.nflags = o->nflags + 1;
    ompjit_status status = front_end(ctx, source, &with_lines, unit, err);
    free(flags);
    return status;
}

/* The options are read before anything is compiled. `who` begins the messages.
 */
static ompjit_status module_from(const char *who, from_source *front_end,
                                 ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit_module **mod, ompjit_error *err)
{
    ompjit_module_options room;
    if (!ctx || !source || !mod)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: context, source and a place for the module "
                            "are needed", who);
    const ompjit_module_options *o = ompjit__module_options(options, &room, err);
    if (!o)
        return OMPJIT_ERR_INVALID;
    ompjit__unit unit = {0};
    ompjit_status status = compile(front_end, ctx, source, o, &unit, err);
    return status ? status : ompjit__module_new(ctx, &unit, o, mod, err);
}

ompjit_status ompjit_module_from_c(ompjit_context *ctx, const char *source,
                                   const ompjit_module_options *options,
                                   ompjit_module **mod, ompjit_error *err)
{
    return module_from("ompjit_module_from_c", ompjit__frontend_c, ctx, source,
                       options, mod, err);
}

/* The name says the form of the source. */
static ompjit_status fortran(ompjit_context *ctx, const char *source,
                             const ompjit_module_options *options,
                             ompjit__unit *out, ompjit_error *err)
{
    ompjit_module_options named = *options;
    if (!named.name)
        named.name = "snippet.f90";
    return ompjit__frontend_fortran(ctx, source, &named, out, err);
}

ompjit_status ompjit_module_from_fortran(ompjit_context *ctx,
                                         const char *source,
                                         const ompjit_module_options *options,
                                         ompjit_module **mod, ompjit_error *err)
{
    return module_from("ompjit_module_from_fortran", fortran, ctx, source,
                       options, mod, err);
}

ompjit_status ompjit_module_from_cuda(ompjit_context *ctx, const char *source,
                                      const ompjit_module_options *options,
                                      ompjit_module **mod, ompjit_error *err)
{
    return module_from("ompjit_module_from_cuda", ompjit__frontend_cuda, ctx,
                       source, options, mod, err);
}

/* The arguments of ompjit_module_from_sources. Borrowed. */
struct program {
    const char *const *sources, *const *names;
    unsigned n;
};

/* clang writes the name's file into the names of kernels, so that two sources
 * of one name could have kernels of one name. */
static ompjit_status check_program(const struct program *p, ompjit_error *err)
{
    static const char who[] = "ompjit_module_from_sources";
    for (unsigned i = 0; i < p->n; i++) {
        if (!p->sources[i] || !p->names[i])
            return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                "%s: source %u has no %s", who, i,
                                p->sources[i] ? "name" : "text");
        for (unsigned k = 0; k < i; k++)
            if (!strcmp(p->names[i], p->names[k]))
                return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                    "%s: sources %u and %u are both named %s",
                                    who, k, i, p->names[i]);
    }
    return OMPJIT_OK;
}

/* By the name's ending. */
static bool is_fortran(const struct program *p, unsigned i)
{
    return ompjit__fortran_name(p->names[i], NULL) != OMPJIT__FORTRAN_NONE;
}

/* The state that the threads which compile a program's sources share. */
struct compiling {
    ompjit_context *ctx;
    const struct program *p;
    const ompjit_module_options *o;
    ompjit__unit *units;  /* one for each source                        */
    const ompjit_module_options *fortran; /* of sources in Fortran      */
    atomic_uint next;     /* source to compile                          */
    pthread_mutex_t lock; /* of what follows                            */
    unsigned failed;      /* the first source that failed; p->n: none   */
    ompjit_error err;     /* its                                        */
};

/* Keeps the error of the first source, whichever failed first, and starts no
 * more. */
static void note_failure(struct compiling *c, unsigned i,
                         const ompjit_error *err)
{
    pthread_mutex_lock(&c->lock);
    if (i < c->failed) {
        c->failed = i;
        c->err = *err;
    }
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->next, c->p->n); /* no more */
}

/* Has a source before this one failed? */
static bool has_failed(struct compiling *c, unsigned i)
{
    pthread_mutex_lock(&c->lock);
    bool failed = c->failed < i;
    pthread_mutex_unlock(&c->lock);
    return failed;
}

/* Those of Fortran, which may use the modules of the ones before them: one by
 * one, as far as no source before has failed. */
static void compile_fortran(struct compiling *c)
{
    for (unsigned i = 0; i < c->p->n && !has_failed(c, i); i++) {
        if (!is_fortran(c->p, i))
            continue;
        ompjit_module_options own = *c->fortran;
        ompjit_error err;
        own.name = c->p->names[i];
        if (compile(ompjit__frontend_fortran, c->ctx, c->p->sources[i], &own,
                    &c->units[i], &err))
            note_failure(c, i, &err);
    }
}

/* One source after the other, as long as there are any. Those before one that
 * failed have been begun by then: so the error is always the first source's. */
static void *compile_some(void *arg)
{
    struct compiling *c = arg;
    unsigned i;
    while ((i = atomic_fetch_add(&c->next, 1)) < c->p->n) {
        ompjit_module_options own = *c->o;
        ompjit_error err;
        own.name = c->p->names[i];
        if (!is_fortran(c->p, i) &&
            compile(ompjit__frontend_c, c->ctx, c->p->sources[i], &own,
                    &c->units[i], &err))
            note_failure(c, i, &err);
    }
    return NULL;
}

/* Compiles in this thread and in others, one for each further processor. Those
 * block all signals, which are the application's. */
static void compile_all(struct compiling *c)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    unsigned n = 0, most = ompjit__processors();
    sigset_t every, before;
    most = most > MOST ? MOST : most;
    most = most > c->p->n ? c->p->n : most;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    while (n + 1 < most && !pthread_create(&threads[n], NULL, compile_some, c))
        n++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    compile_fortran(c);
    compile_some(c);
    while (n)
        pthread_join(threads[--n], NULL);
}

/* Makes a unit of each source, and one of all these. */
static ompjit_status compile_units(ompjit_context *ctx,
                                   const struct program *p,
                                   const ompjit_module_options *o,
                                   const ompjit_module_options *fortran,
                                   ompjit__unit *out, ompjit_error *err)
{
    struct compiling c = {.ctx = ctx, .p = p, .o = o, .fortran = fortran,
                          .failed = p->n,
                          .units = calloc(p->n, sizeof *c.units)};
    if (!c.units)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    pthread_mutex_init(&c.lock, NULL);
    compile_all(&c);
    bool good = c.failed == p->n;
    if (!good && err)
        *err = c.err;
    ompjit_status status =
        good ? ompjit__frontend_join(ctx, c.units, p->n, o, out, err)
             : c.err.status;
    for (unsigned i = 0; i < p->n; i++)
        ompjit__unit_free(&c.units[i]);
    free(c.units);
    pthread_mutex_destroy(&c.lock);
    return status;
}

/* With a private folder for .mod files, unless the user's flags, which come
 * behind it, name another one. */
static ompjit_status compile_modules(ompjit_context *ctx,
                                     const struct program *p,
                                     const ompjit_module_options *o,
                                     ompjit__unit *out, ompjit_error *err)
{
    ompjit_module_options fortran = *o;
    char *folder;
    ompjit_status status = ompjit__folder_new(&folder, err);
    if (status)
        return status;
    const char **flags = calloc(o->nflags + 2u, sizeof *flags);
    if (flags) {
        flags[0] = "-J";
        flags[1] = folder;
        for (unsigned i = 0; i < o->nflags; i++)
            flags[i + 2] = o->flags[i];
        fortran.flags = flags;
        fortran.nflags = o->nflags + 2;
        status = compile_units(ctx, p, o, &fortran, out, err);
    } else {
        status = ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    free(flags);
    ompjit__folder_free(folder);
    return status;
}

/* A program without Fortran needs no folder for .mod files. */
static ompjit_status compile_program(ompjit_context *ctx,
                                     const struct program *p,
                                     const ompjit_module_options *o,
                                     ompjit__unit *out, ompjit_error *err)
{
    for (unsigned i = 0; i < p->n; i++)
        if (is_fortran(p, i))
            return compile_modules(ctx, p, o, out, err);
    return compile_units(ctx, p, o, NULL, out, err);
}

ompjit_status ompjit_module_from_sources(ompjit_context *ctx,
                                         const char *const *sources,
                                         const char *const *names, unsigned n,
                                         const ompjit_module_options *options,
                                         ompjit_module **mod, ompjit_error *err)
{
    const struct program p = {sources, names, n};
    ompjit_module_options room;
    if (!ctx || !sources || !names || !n || !mod)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_from_sources: context, sources, "
                            "their names and a place for the module are "
                            "needed");
    const ompjit_module_options *o = ompjit__module_options(options, &room, err);
    if (!o)
        return OMPJIT_ERR_INVALID;
    ompjit_status status = check_program(&p, err);
    ompjit__unit unit = {0};
    if (!status)
        status = compile_program(ctx, &p, o, &unit, err);
    return status ? status : ompjit__module_new(ctx, &unit, o, mod, err);
}

/* `device` and `host` are bitcode or text, and only read during the call.
 * Without `host` the module has kernels but no functions. */
ompjit_status ompjit_module_from_ir(ompjit_context *ctx, const void *device,
                                    size_t device_size, const void *host,
                                    size_t host_size,
                                    const ompjit_module_options *options,
                                    ompjit_module **mod, ompjit_error *err)
{
    ompjit_module_options room;
    if (!ctx || !device || !mod || (!host && host_size))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_from_ir: context, device IR and a "
                            "place for the module are needed");
    const ompjit_module_options *o = ompjit__module_options(options, &room, err);
    if (!o)
        return OMPJIT_ERR_INVALID;
    ompjit__unit unit = {0};
    ompjit_status status = ompjit__frontend_ir(
        ctx, device, device_size, host, host_size, o, &unit, err);
    return status ? status : ompjit__module_new(ctx, &unit, o, mod, err);
}

/* By the cache, as other IR; but it is of a source, and its lines are wanted. */
ompjit_status ompjit__module_from_halves(ompjit_context *ctx,
                                         const ompjit__buf *device,
                                         const ompjit__buf *host,
                                         const ompjit_module_options *options,
                                         ompjit_module **mod,
                                         ompjit_error *err)
{
    ompjit__unit unit = {0};
    ompjit_status status =
        ompjit__frontend_ir(ctx, device->data, device->size, host->data,
                            host->size, options, &unit, err);
    if (status)
        return status;
    unit.from_source = true;
    unit.own_lines = !ompjit__lines_wanted(options);
    return ompjit__module_new(ctx, &unit, options, mod, err);
}

/* A module without device code, whose functions run on the host. */
ompjit_status ompjit__module_from_host(ompjit_context *ctx,
                                       const ompjit__buf *host,
                                       const ompjit_module_options *options,
                                       ompjit_module **mod, ompjit_error *err)
{
    ompjit__unit unit = {.from_source = true,
                         .unread = true,
                         .own_lines = !ompjit__lines_wanted(options),
                         .name = ompjit__strdup(options->name),
                         .opt_level = options->opt_level
                                          ? options->opt_level - 1u
                                          : 3u};
    ompjit__buf_add(&unit.host_bc, host->data, host->size);
    if (!unit.name || unit.host_bc.failed || !ompjit__unit_seal(&unit)) {
        ompjit__unit_free(&unit);
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    }
    return ompjit__module_new(ctx, &unit, options, mod, err);
}

/* Compiles the host half at once; its constructors are the caller's to run
 * (ompjit__hostjit_construct). */
ompjit_status ompjit__module_link(ompjit_module *mod,
                                  const ompjit__linkage *linkage,
                                  ompjit_error *err)
{
    mod->linkage = linkage;
    atomic_store(&mod->ctx->hands_out_functions, true);
    return ompjit__hostjit_new(mod, &mod->hostjit, err);
}

bool ompjit__module_is_built(ompjit_module *mod)
{
    pthread_mutex_lock(&mod->variants.lock);
    const bool built = mod->variants.all || mod->variants.flights;
    pthread_mutex_unlock(&mod->variants.lock);
    return built;
}

/* The host half knows kernels by their order and their names. */
static bool are_alike(const ompjit__unit *a, const ompjit__unit *b)
{
    bool alike = a->nkernels == b->nkernels;
    for (unsigned i = 0; alike && i < a->nkernels; i++)
        alike = !strcmp(a->kernels[i].symbol, b->kernels[i].symbol);
    return alike;
}

/* The host's counterpart of a pointer to another module's variable, which the
 * module's own host half does not have. */
struct ompjit__cell {
    struct ompjit__cell *next;
    void *variable;
    const ompjit__global_desc *global; /* NULL: it is registered */
};

static void cells_free(struct ompjit__cell *cell)
{
    while (cell) {
        struct ompjit__cell *next = cell->next;
        free(cell);
        cell = next;
    }
}

/* Such a pointer is named after its variable (frontend/repl/device_variable.cc).
 */
static struct ompjit__cell *new_cell(const ompjit_module *mod,
                                     const ompjit__global_desc *g)
{
    static const char suffix[] = "_decl_tgt_ref_ptr";
    const size_t n = strlen(g->symbol), end = sizeof suffix - 1;
    if (!(g->flags & OMPJIT__ENTRY_LINK) || n <= end ||
        strcmp(g->symbol + n - end, suffix))
        return NULL;
    char *name = ompjit__format("%.*s", (int)(n - end), g->symbol);
    void *variable =
        name ? mod->linkage->find(mod->linkage->data, name) : NULL;
    free(name);
    struct ompjit__cell *cell = variable ? calloc(1, sizeof *cell) : NULL;
    if (cell)
        *cell = (struct ompjit__cell){NULL, variable, g};
    return cell;
}

/* Cells of the globals that only the other code has. False: it has others. */
static bool find_more(const ompjit_module *mod, const ompjit__unit *other,
                      struct ompjit__cell **cells)
{
    for (unsigned i = 0; i < other->nglobals; i++) {
        if (ompjit__unit_has_global(&mod->unit, other->globals[i].symbol))
            continue;
        struct ompjit__cell *cell = new_cell(mod, &other->globals[i]);
        if (!cell)
            return false;
        cell->next = *cells;
        *cells = cell;
    }
    return true;
}

static void register_cells(ompjit_module *mod, struct ompjit__cell *cells)
{
    while (cells) {
        struct ompjit__cell *cell = cells;
        const ompjit__global_desc *g = cell->global;
        cells = cell->next;
        cell->next = mod->cells;
        mod->cells = cell;
        cell->global = NULL;
        ompjit__tgt_add_global(mod->ctx, &cell->variable, g->size, g->flags,
                               mod, g->symbol, NULL);
    }
}

bool ompjit__module_exchange(ompjit_module *mod, ompjit_module *other)
{
    const ompjit__unit own = mod->unit;
    struct ompjit__cell *cells = NULL;
    if (ompjit__module_is_built(mod) || !are_alike(&own, &other->unit) ||
        !find_more(mod, &other->unit, &cells)) {
        cells_free(cells);
        return false;
    }
    mod->unit = other->unit;
    other->unit = own;
    describe_kernels(mod);
    describe_kernels(other);
    ompjit__tgt_exchanged(mod->ctx, mod);
    register_cells(mod, cells);
    return true;
}

/* The host half goes first, whose destructors may still launch kernels; then
 * what finds kernels and variables by address; then the images. No launch of
 * its kernels is under way, and no other thread uses it. Accepts NULL. */
void ompjit_module_destroy(ompjit_module *mod)
{
    if (!mod)
        return;
    if (mod->ctx->explain)
        ompjit__explain_module(mod);
    ompjit__hostjit_free(mod->hostjit);
    ompjit__functions_free(mod->functions);
    ompjit__pointers_free(mod->pointers);
    if (mod->holds_faults)
        ompjit__fault_drop();
    ompjit__tgt_remove(mod->ctx, mod);
    cells_free(mod->cells);
    ompjit__variants_free(mod);
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        free(atomic_load(&mod->kernels[i].sightings));
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        ompjit__tuning_free(&mod->kernels[i]);
    free(mod->kernels);
    ompjit__unit_free(&mod->unit);
    ompjit__fork_lock_end(&mod->at_fork);
    free(mod);
}

/* ------------------------------------------------------------- functions */

/* The function is valid as long as the module. */
ompjit_status ompjit_module_function(ompjit_module *mod, const char *name,
                                     void (**fn)(void), ompjit_error *err)
{
    if (!mod || !name || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_function: module, name and a place "
                            "for the function are needed");
    if (!mod->unit.host_bc.size)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "%s was made without a host half: it has kernels, "
                            "but no function %s",
                            mod->unit.name, name);
    return ompjit__function_pointer(mod, name, fn, err);
}

/* ------------------------------------------------------------------ emit */

/* The buffer's memory becomes the caller's, who frees it with
 * ompjit_bytes_free: both are malloc's. After a failure the buffer is still the
 * caller's, as it was. */
static ompjit_status give(ompjit__buf *bytes, void **data, size_t *size,
                          ompjit_error *err)
{
    if (bytes->failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    *data = bytes->data;
    *size = bytes->size;
    return OMPJIT_OK;
}

/* Generic code of all kernels, by the cache. No literal and no geometry is
 * folded (the spec is empty). The modes that the image tells are noted, as if
 * it had been launched. */
static ompjit_status emit_image(ompjit_module *mod, ompjit_format format,
                                const char *arch, void **data, size_t *size,
                                ompjit_error *err)
{
    if (!arch)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_emit: this format needs an "
                            "architecture");
    ompjit__spec spec = {.keeps_environments = true};
    ompjit__image image = {0};
    ompjit_status status = ompjit__build_cached(
        mod->ctx, &mod->unit, arch, format, &spec, &image, err);
    if (status)
        return status;
    ompjit__note_modes(mod, OMPJIT__ALL_KERNELS, &image.modes);
    if (mod->unit.nprebuilt && (image.kind == OMPJIT__IMAGE_PTX) !=
                                   (format == OMPJIT_FORMAT_PTX))
        status = ompjit__prebuilt_no_ir(&mod->unit, err);
    else
        status = give(&image.bytes, data, size, err);
    if (!status)
        image.bytes = (ompjit__buf){0};
    ompjit__image_free(&image);
    return status;
}

/* `arch` is used by formats of machine code and PTX only. *data is malloc'd,
 * and set on success only. */
ompjit_status ompjit_module_emit(ompjit_module *mod, ompjit_format format,
                                 const char *arch, void **data, size_t *size,
                                 ompjit_error *err)
{
    if (!mod || !data || !size)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_emit: module and places for data "
                            "and size are needed");
    ompjit_status status =
        ompjit__enum_check("ompjit_module_emit", "format", (int)format,
                           OMPJIT_FORMAT_COUNT - 1, err);
    if (status)
        return status;
    const ompjit__unit *unit = &mod->unit;
    ompjit__buf text = {0};
    if (unit->nprebuilt && format != OMPJIT_FORMAT_PTX &&
        format != OMPJIT_FORMAT_CUBIN)
        return ompjit__prebuilt_no_ir(unit, err);
    if (!unit->device_bc.size && format != OMPJIT_FORMAT_PTX &&
        format != OMPJIT_FORMAT_CUBIN)
        return ompjit__cuda_no_ir(unit->cuda, err);
    switch (format) {
    case OMPJIT_FORMAT_LL:
        status = ompjit__door_print(&mod->ctx->compiler, &unit->device_bc,
                                    unit->name, &text, err);
        break;
    case OMPJIT_FORMAT_HOST_LL:
        status = ompjit__door_print(&mod->ctx->compiler, &unit->host_bc,
                                    unit->name, &text, err);
        break;
    case OMPJIT_FORMAT_BC:
        ompjit__buf_add(&text, unit->device_bc.data, unit->device_bc.size);
        status = OMPJIT_OK;
        break;
    default:
        return emit_image(mod, format, arch, data, size, err);
    }
    if (!status)
        status = give(&text, data, size, err);
    if (status)
        ompjit__buf_free(&text);
    return status;
}

/* For an application whose free is another one's than the library's. */
void ompjit_bytes_free(void *data)
{
    free(data);
}
