/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels by name, what they take and use, and explicit launches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "door/door.h"
#include "launch/module.h"
#include "api/queue.h"
#include "cache/cache.h"

static const ompjit__kernel_desc *desc(const ompjit_kernel *kernel)
{
    return &kernel->mod->unit.kernels[kernel->index];
}

/* ------------------------------------------------------------------ names */

unsigned ompjit_module_kernel_count(ompjit_module *mod)
{
    return mod ? mod->unit.nkernels : 0;
}

ompjit_kernel *ompjit_module_kernel_at(ompjit_module *mod, unsigned i)
{
    return mod && i < mod->unit.nkernels ? &mod->kernels[i] : NULL;
}

/* The length of `name` without the kernel's line, ":3", at its end. */
static size_t without_line(const ompjit__kernel_desc *k, const char *name)
{
    char line[16];
    size_t size = strlen(name);
    size_t n = (size_t)snprintf(line, sizeof line, ":%u", k->line);
    return size > n && !strcmp(name + size - n, line) ? size - n : size;
}

/* Is `name` the kernel's symbol, its function, its whole name in C++, or that
 * without the parameters? A line may follow. */
static bool has_name(const ompjit__kernel_desc *k, const char *name)
{
    size_t n = without_line(k, name);
    if (!strcmp(k->symbol, name) ||
        (strlen(k->name) == n && !strncmp(k->name, name, n)))
        return true;
    char *whole = ompjit__kernel_signature(k->symbol);
    bool found = whole && !strncmp(whole, name, n) &&
                 (whole[n] == '(' || !whole[n]);
    free(whole);
    return found;
}

/* Has another function of the module the short name, too? */
static bool shares_name(const ompjit_kernel *kernel, const char *whole)
{
    const ompjit__unit *unit = &kernel->mod->unit;
    bool shared = false;
    for (unsigned i = 0; i < unit->nkernels && !shared; i++) {
        if (strcmp(unit->kernels[i].name, desc(kernel)->name))
            continue;
        char *other = ompjit__kernel_signature(unit->kernels[i].symbol);
        shared = other && strcmp(other, whole) != 0;
        free(other);
    }
    return shared;
}

char *ompjit__kernel_title(const ompjit_kernel *kernel)
{
    char *whole = ompjit__kernel_signature(desc(kernel)->symbol);
    if (whole && (memchr(whole, '<', strcspn(whole, "(")) ||
                  shares_name(kernel, whole)))
        return whole;
    free(whole);
    return ompjit__strdup(desc(kernel)->name);
}

/* "saxpy:3, axpy<float>(int, float*):8" */
static void list_kernels(const ompjit_module *mod, ompjit__buf *out)
{
    for (unsigned i = 0; i < mod->unit.nkernels; i++) {
        const ompjit__kernel_desc *k = &mod->unit.kernels[i];
        char *title = ompjit__kernel_title(&mod->kernels[i]);
        ompjit__buf_printf(out, "%s%s", i ? ", " : "", title ? title : k->name);
        if (k->line)
            ompjit__buf_printf(out, ":%u", k->line);
        free(title);
    }
}

static ompjit_status name_error(const ompjit_module *mod, const char *name,
                                unsigned found, ompjit_error *err)
{
    ompjit__buf list = {0};
    list_kernels(mod, &list);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API, "%s: %s kernel %s%s%s",
        mod->unit.name, found ? "more than one" : "no", name,
        list.size ? "; there are " : "; it has no kernels",
        list.size ? list.data : "");
    ompjit__buf_free(&list);
    return status;
}

ompjit_status ompjit_module_kernel(ompjit_module *mod, const char *name,
                                   ompjit_kernel **kernel, ompjit_error *err)
{
    if (!mod || !name || !kernel)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_kernel: module, name and a place "
                            "for the kernel are needed");
    unsigned found = 0, at = 0;
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        if (has_name(&mod->unit.kernels[i], name)) {
            found++;
            at = i;
        }
    if (found != 1)
        return name_error(mod, name, found, err);
    *kernel = &mod->kernels[at];
    return OMPJIT_OK;
}

/* ------------------------------------------------------------------- info */

static uint32_t bound(int32_t n)
{
    return n > 0 ? (uint32_t)n : 0;
}

void ompjit__note_modes(ompjit_module *mod, uint32_t kernel,
                        const ompjit__buf *modes)
{
    for (unsigned i = 0; i < modes->size; i++)
        if ((kernel == OMPJIT__ALL_KERNELS || kernel == i) &&
            modes->data[i] == OMPJIT_MODE_GENERIC_SPMD)
            atomic_store_explicit(&mod->kernels[i].made_spmd, true,
                                  memory_order_relaxed);
}

ompjit_status ompjit_kernel_info_get(ompjit_kernel *kernel,
                                     ompjit_kernel_info *info,
                                     ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_kernel_info, info, err);
    if (status)
        return status;
    if (!kernel)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_info_get: no kernel");
    const ompjit__kernel_desc *k = desc(kernel);
    bool made_spmd = atomic_load_explicit(&kernel->made_spmd,
                                          memory_order_relaxed);
    ompjit_kernel_info full = {.line = k->line,
                                 .mode = made_spmd
                                             ? OMPJIT_MODE_GENERIC_SPMD
                                             : (ompjit_mode)k->mode,
                                 .nparams = k->nparams,
                                 .max_threads = bound(k->max_threads),
                                 .max_teams = bound(k->max_teams)};
    snprintf(full.symbol, sizeof full.symbol, "%s", k->symbol);
    snprintf(full.name, sizeof full.name, "%s", k->name);
    ompjit__result_fill(OMPJIT__STRUCT_kernel_info, &full, info);
    return OMPJIT_OK;
}

/* Bytes of the value that a launch gives: the source's where it is known. */
static uint32_t value_size(const ompjit__param *p)
{
    return p->kind != OMPJIT__PARAM_POINTER && p->size ? p->size : p->bytes;
}

const ompjit__param *ompjit__kernel_param_at(const ompjit_kernel *kernel,
                                             unsigned i, ompjit_error *err)
{
    const ompjit__kernel_desc *k = desc(kernel);
    if (i < k->nparams)
        return &k->params[i];
    ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                 "kernel %s has %u parameters, none is number %u", k->name,
                 k->nparams, i);
    return NULL;
}

ompjit_status ompjit_kernel_param(ompjit_kernel *kernel, unsigned i,
                                  ompjit_param_info *info, ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_param_info, info, err);
    if (status)
        return status;
    if (!kernel)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_param: no kernel");
    const ompjit__param *p = ompjit__kernel_param_at(kernel, i, err);
    if (!p)
        return OMPJIT_ERR_INVALID;
    ompjit_param_info full = {
        .bytes = value_size(p),
        .is_pointer = p->kind == OMPJIT__PARAM_POINTER,
        .is_float = p->kind == OMPJIT__PARAM_FLOAT,
        .source_order = p->source_order};
    snprintf(full.name, sizeof full.name, "%s", p->name);
    ompjit__result_fill(OMPJIT__STRUCT_param_info, &full, info);
    return OMPJIT_OK;
}

/* -------------------------------------------------------------- arguments */

static const struct {
    const char *name;
    uint8_t size, kind;
} arg_types[] = {
    [OMPJIT_ARG_POINTER] = {"pointer", 8, OMPJIT__PARAM_POINTER},
    [OMPJIT_ARG_I8] = {"i8", 1, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_I16] = {"i16", 2, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_I32] = {"i32", 4, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_I64] = {"i64", 8, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_F32] = {"f32", 4, OMPJIT__PARAM_FLOAT},
    [OMPJIT_ARG_F64] = {"f64", 8, OMPJIT__PARAM_FLOAT},
};

static const char *const param_kinds[] = {
    [OMPJIT__PARAM_POINTER] = "pointer",
    [OMPJIT__PARAM_INTEGER] = "integer",
    [OMPJIT__PARAM_FLOAT] = "float",
    [OMPJIT__PARAM_SCALAR] = "scalar",
};

/* "4-byte integer n, pointer y": what the kernel takes. */
static void list_params(const ompjit__kernel_desc *k, ompjit__buf *out)
{
    for (unsigned i = 0; i < k->nparams; i++) {
        const ompjit__param *p = &k->params[i];
        ompjit__buf_printf(out, "%s", i ? ", " : "");
        if (p->kind != OMPJIT__PARAM_POINTER)
            ompjit__buf_printf(out, "%u-byte ", value_size(p));
        ompjit__buf_printf(out, "%s %s", param_kinds[p->kind], p->name);
    }
}

static bool fits(const ompjit__param *p, uint8_t kind, uint32_t size)
{
    if (kind == OMPJIT__PARAM_POINTER || p->kind == OMPJIT__PARAM_POINTER)
        return kind == p->kind;
    return size == value_size(p) &&
           (kind == p->kind || p->kind == OMPJIT__PARAM_SCALAR);
}

static ompjit_status argument_error(const ompjit__kernel_desc *k,
                                    ompjit_error *err, const char *format, ...)
    OMPJIT__PRINTF(3, 4);

static ompjit_status argument_error(const ompjit__kernel_desc *k,
                                    ompjit_error *err, const char *format, ...)
{
    char cause[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(cause, sizeof cause, format, ap);
    va_end(ap);
    ompjit__buf list = {0};
    list_params(k, &list);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_LAUNCH, "kernel %s(%s): %s",
        k->name, list.data ? list.data : "", cause);
    ompjit__buf_free(&list);
    return status;
}

static ompjit_status find_param(const ompjit__kernel_desc *k,
                                const ompjit_arg *arg, unsigned i,
                                unsigned *at, ompjit_error *err)
{
    *at = i;
    if (!arg->name)
        return OMPJIT_OK;
    for (*at = 0; *at < k->nparams; ++*at)
        if (!strcmp(k->params[*at].name, arg->name))
            return OMPJIT_OK;
    return argument_error(k, err, "no parameter is called %s", arg->name);
}

static ompjit_status check_type(const ompjit__kernel_desc *k,
                                const ompjit__param *p, const ompjit_arg *arg,
                                ompjit_error *err)
{
    ompjit_status status =
        ompjit__enum_check("ompjit_arg", "type", (int)arg->type,
                           (int)OMPJIT__COUNT(arg_types) - 1, err);
    if (status)
        return status;
    if (fits(p, arg_types[arg->type].kind, arg_types[arg->type].size))
        return OMPJIT_OK;
    if (p->kind == OMPJIT__PARAM_POINTER)
        return argument_error(k, err, "%s is a pointer, got %s", p->name,
                              arg_types[arg->type].name);
    return argument_error(k, err, "%s is a %u-byte %s, got %s (%u bytes)",
                          p->name, value_size(p), param_kinds[p->kind],
                          arg_types[arg->type].name,
                          arg_types[arg->type].size);
}

/* The member that the type names; each size by itself is a plain load. */
static uint64_t low_bytes(const ompjit_arg *arg)
{
    uint64_t value = 0;
    switch (arg_types[arg->type].size) {
    case 1: memcpy(&value, &arg->value, 1); break;
    case 2: memcpy(&value, &arg->value, 2); break;
    case 4: memcpy(&value, &arg->value, 4); break;
    default: memcpy(&value, &arg->value, 8); break;
    }
    return value;
}

ompjit_status ompjit__kernel_value(ompjit_kernel *kernel, const ompjit_arg *arg,
                                   unsigned *at, uint64_t *value,
                                   ompjit_error *err)
{
    const ompjit__kernel_desc *k = desc(kernel);
    ompjit_status status = find_param(k, arg, *at, at, err);
    if (!status)
        status = check_type(k, &k->params[*at], arg, err);
    if (status)
        return status;
    *value = low_bytes(arg);
    return OMPJIT_OK;
}

static ompjit_status check_facts(const ompjit__kernel_desc *k,
                                 const ompjit__param *p, const ompjit_arg *arg,
                                 ompjit_error *err)
{
    bool pointer = p->kind == OMPJIT__PARAM_POINTER;
    ompjit_status status = ompjit__bits_check(
        "ompjit_arg", "flags", arg->flags,
        OMPJIT_ARG_NOALIAS | OMPJIT_ARG_VARIES, err);
    if (status)
        return status;
    if (arg->reserved[0] || arg->reserved[1])
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: reserved is not 0, of %s of kernel %s",
                            p->name, k->name);
    if (!pointer && (arg->bytes || arg->contents))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: bytes or contents of %s of kernel %s, "
                            "which is no pointer", p->name, k->name);
    if (arg->contents && (!arg->bytes || arg->bytes > OMPJIT_CONTENTS_MAX))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: %llu bytes of contents of %s of "
                            "kernel %s; 1 to %d can be",
                            (unsigned long long)arg->bytes, p->name, k->name,
                            OMPJIT_CONTENTS_MAX);
    return OMPJIT_OK;
}

/* Folds what pointer `at` points to. */
static ompjit_status add_contents(const ompjit__kernel_desc *k, unsigned at,
                                  const ompjit_arg *arg, ompjit__request *r,
                                  ompjit__facts *facts, ompjit_error *err)
{
    if (at >= 64 || r->ncontents == OMPJIT__COUNT(facts->contents))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: contents of %s of kernel %s; 16 "
                            "pointers among the first 64 parameters can have "
                            "some", k->params[at].name, k->name);
    facts->contents[r->ncontents++] =
        (ompjit__contents){at, (uint32_t)arg->bytes, arg->contents};
    r->contents = facts->contents;
    return OMPJIT_OK;
}

ompjit_status ompjit__kernel_facts(ompjit_kernel *kernel, const ompjit_arg *arg,
                                   unsigned at, ompjit__request *r,
                                   ompjit__facts *facts, ompjit_error *err)
{
    const ompjit__kernel_desc *k = desc(kernel);
    if (!arg->flags && !arg->bytes && !arg->contents && !arg->reserved[0] &&
        !arg->reserved[1])
        return OMPJIT_OK;
    ompjit_status status = check_facts(k, &k->params[at], arg, err);
    if (!status && arg->contents)
        status = add_contents(k, at, arg, r, facts, err);
    if (status || at >= 64)
        return status;
    uint64_t bit = UINT64_C(1) << at;
    r->varies |= arg->flags & OMPJIT_ARG_VARIES ? bit : 0;
    r->noalias |= arg->flags & OMPJIT_ARG_NOALIAS ? bit : 0;
    if (arg->bytes && !arg->contents) {
        r->sized |= bit;
        r->sizes = facts->sizes;
        facts->sizes[at] = arg->bytes;
    }
    return OMPJIT_OK;
}

ompjit_status ompjit__kernel_values(ompjit_kernel *kernel,
                                    const ompjit_arg *args, unsigned nargs,
                                    uint64_t *values, ompjit__request *r,
                                    ompjit__facts *facts, ompjit_error *err)
{
    const ompjit__kernel_desc *k = desc(kernel);
    bool given[k->nparams + 1];
    memset(given, 0, sizeof given);
    if (nargs != k->nparams)
        return argument_error(k, err, "takes %u arguments, got %u", k->nparams,
                              nargs);
    for (unsigned i = 0; i < nargs; i++) {
        unsigned at = i;
        uint64_t value;
        ompjit_status status =
            ompjit__kernel_value(kernel, &args[i], &at, &value, err);
        if (!status)
            status = ompjit__kernel_facts(kernel, &args[i], at, r, facts, err);
        if (status)
            return status;
        if (given[at])
            return argument_error(k, err, "%s is given twice",
                                  k->params[at].name);
        given[at] = true;
        values[at] = value;
    }
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- launch */

ompjit_status ompjit__kernel_on(const char *who, const ompjit_kernel *kernel,
                                const ompjit_device *dev, ompjit_error *err)
{
    if (!kernel || !dev)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: no %s", who, kernel ? "device" : "kernel");
    if (kernel->mod->ctx == dev->ctx)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: device %u is of another context than kernel %s",
                        who, dev->number, desc(kernel)->name);
}

ompjit_status ompjit__launch_check(const char *who, const ompjit_kernel *kernel,
                                   const ompjit_device *dev,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err)
{
    if (nargs && !args)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: %u arguments, but no array", who, nargs);
    return ompjit__kernel_on(who, kernel, dev, err);
}

static ompjit_status geometry_error(const ompjit__kernel_desc *k,
                                    const char *cause, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                        "kernel %s: %s", k->name, cause);
}

/* Whether the launch's dimensions are what such a kernel can have. */
static ompjit_status check_dimensions(const ompjit__kernel_desc *k,
                                      const ompjit_launch *l,
                                      ompjit_error *err)
{
    bool box = l->teams_y > 1 || l->teams_z > 1 || l->threads_y > 1 ||
               l->threads_z > 1;
    if (box && k->openmp)
        return geometry_error(k, "it calls the OpenMP runtime, whose threads "
                                 "have one dimension", err);
    if (box && k->mode != OMPJIT_MODE_BARE)
        return geometry_error(k, "a target region has one dimension", err);
    if (box && (!l->teams || !l->threads))
        return geometry_error(k, "who says how many there are in y and z says "
                                 "how many in x", err);
    return OMPJIT_OK;
}

/* x * y * z, where 0 in y and z is 1; UINT64_MAX where it is 2^32 or more. */
static uint64_t volume(uint32_t x, uint32_t y, uint32_t z)
{
    uint64_t area = (uint64_t)x * (y ? y : 1);
    uint64_t all = area <= UINT32_MAX ? area * (z ? z : 1) : UINT64_MAX;
    return all <= UINT32_MAX ? all : UINT64_MAX;
}

static ompjit_status check_geometry(const ompjit__kernel_desc *k,
                                    const ompjit_launch *l, ompjit_error *err)
{
    uint32_t most = bound(k->max_threads);
    uint64_t threads = volume(l->threads, l->threads_y, l->threads_z);
    if (threads == UINT64_MAX ||
        volume(l->teams, l->teams_y, l->teams_z) == UINT64_MAX)
        return geometry_error(k, "2^32 teams or threads, or more", err);
    if (most && threads > most)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s: a team of %llu threads, it was "
                            "compiled for at most %u",
                            k->name, (unsigned long long)threads, most);
    return check_dimensions(k, l, err);
}

ompjit_status ompjit_kernel_fold_contents(ompjit_kernel *kernel,
                                          const char *param,
                                          ompjit_error *err)
{
    if (!kernel || !param)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_fold_contents: kernel and the "
                            "parameter's name are needed");
    const ompjit__kernel_desc *k = desc(kernel);
    unsigned at;
    ompjit_status status =
        find_param(k, &(ompjit_arg){.name = param}, 0, &at, err);
    if (status)
        return status;
    if (at >= 64 || k->params[at].kind != OMPJIT__PARAM_POINTER)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "kernel %s: %s is no pointer among the first 64 "
                            "parameters", k->name, param);
    atomic_fetch_or(&kernel->contents, UINT64_C(1) << at);
    return OMPJIT_OK;
}

ompjit_status ompjit__kernel_folds(ompjit_kernel *kernel,
                                   const ompjit_launch *launch,
                                   ompjit__request *r, ompjit_error *err)
{
    ompjit_launch room;
    *r = (ompjit__request){0};
    if (!launch)
        return OMPJIT_OK;
    const ompjit_launch *l =
        ompjit__options(OMPJIT__STRUCT_launch, launch, &room, err);
    ompjit_status status =
        l ? check_geometry(desc(kernel), l, err) : OMPJIT_ERR_INVALID;
    if (status)
        return status;
    r->teams[0] = l->teams;
    r->teams[1] = l->teams_y;
    r->teams[2] = l->teams_z;
    r->teams_fixed = l->teams != 0;
    r->threads[0] = l->threads;
    r->threads[1] = l->threads_y;
    r->threads[2] = l->threads_z;
    r->threads_fixed = l->threads != 0;
    r->dynamic_shared = l->dynamic_shared;
    r->tripcount = l->tripcount;
    r->run_limit_ms = l->time_limit_ms;
    r->queue = l->queue;
    r->cooperative = l->cooperative;
    r->policy = l->specialize.mode;
    r->fold = l->specialize.fold;
    r->limit_ms = l->specialize.time_limit_ms;
    r->residents = l->specialize.resident_teams;
    return OMPJIT_OK;
}

ompjit_status ompjit__kernel_request(ompjit_kernel *kernel,
                                     const ompjit_launch *launch,
                                     ompjit__request *r, ompjit_error *err)
{
    const ompjit__kernel_desc *k = desc(kernel);
    ompjit_status status = ompjit__kernel_folds(kernel, launch, r, err);
    if (!status && k->cuda && (!r->teams[0] || !r->threads[0]))
        return geometry_error(k, "of a CUDA kernel the launch says how many "
                                 "teams there are and how many threads in each",
                              err);
    return status;
}

ompjit_status ompjit_kernel_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err)
{
    ompjit_status status =
        ompjit__launch_check(__func__, kernel, dev, args, nargs, err);
    if (status)
        return status;
    uint64_t values[desc(kernel)->nparams + 1];
    ompjit__request request;
    ompjit__facts facts;
    status = ompjit__kernel_request(kernel, launch, &request, err);
    if (!status)
        status = ompjit__kernel_values(kernel, args, nargs, values, &request,
                                       &facts, err);
    if (status)
        return status;
    if (request.queue)
        return ompjit__queue_launch(kernel, dev, launch, args, nargs, &request,
                                    values, err);
    return ompjit__run(kernel->mod, kernel->index, dev, &request, values, nargs,
                       NULL, err);
}

/* On each device that can; of several the first that cannot. Only what a signal
 * handler may call, too. */
static ompjit_status abort_on(ompjit_device *const *devices, unsigned n,
                              const char *symbol, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    unsigned able = 0;
    for (unsigned i = 0; i < n && !status; i++) {
        able += devices[i]->ops->abort != NULL;
        if (devices[i]->ops->abort)
            status = devices[i]->ops->abort(devices[i], symbol, err);
    }
    if (status || able || !n)
        return status;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LAUNCH,
                        "only launches on the host device can be aborted");
}

ompjit_status ompjit_kernel_abort(ompjit_kernel *kernel, ompjit_error *err)
{
    if (!kernel)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_abort: a kernel is needed");
    const ompjit_context *ctx = kernel->mod->ctx;
    bool known = atomic_load(&ctx->devices_known);
    return abort_on(ctx->devices, known ? ctx->ndevices : 0,
                    desc(kernel)->symbol, err);
}

ompjit_status ompjit_device_abort(ompjit_device *dev, ompjit_error *err)
{
    if (!dev)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_device_abort: a device is needed");
    return abort_on(&dev, 1, NULL, err);
}

ompjit_status ompjit_kernel_last_launch(ompjit_kernel *kernel,
                                        ompjit_device *dev,
                                        ompjit_launch_info *info,
                                        ompjit_error *err)
{
    ompjit_launch_info last;
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_launch_info, info, err);
    if (!status)
        status = ompjit__kernel_on(__func__, kernel, dev, err);
    if (status)
        return status;
    while (atomic_flag_test_and_set_explicit(&kernel->last_lock,
                                             memory_order_acquire))
        ;
    bool known = kernel->last_device == dev;
    if (known)
        last = kernel->last;
    atomic_flag_clear_explicit(&kernel->last_lock, memory_order_release);
    if (!known)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "kernel %s has not run on this device last",
                            desc(kernel)->name);
    ompjit__result_fill(OMPJIT__STRUCT_launch_info, &last, info);
    return OMPJIT_OK;
}
