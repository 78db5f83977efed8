/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels by name, what they take and use, and explicit launches.
 *
 * Kernels are the module's: their pointers stay valid until it is destroyed,
 * and nobody frees them alone. Names of a unit do not change, so they are read
 * without a lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "door/door.h"
#include "launch/module.h"
#include "api/queue.h"
#include "cache/cache.h"

/* ------------------------------------------------------------------ names */

/* These two cannot fail: without a module there are no kernels. */
unsigned ompjit_module_kernel_count(ompjit_module *mod)
{
    return mod ? mod->unit.nkernels : 0;
}

ompjit_kernel *ompjit_module_kernel_at(ompjit_module *mod, unsigned i)
{
    return mod && i < mod->unit.nkernels ? &mod->kernels[i] : NULL;
}

/* The length of `name` without the kernel's line, ":3", at its end. The line
 * tells apart the target regions of one function. */
static size_t without_line(const ompjit__kernel_desc *k, const char *name)
{
    char line[16];
    size_t size = strlen(name);
    size_t n = (size_t)snprintf(line, sizeof line, ":%u", k->line);
    return size > n && !strcmp(name + size - n, line) ? size - n : size;
}

/* Is `name` the kernel's symbol, its function, its whole name in C++, or that
 * without the parameters? A line may follow. The symbol is the only name that
 * is always unique. ompjit__kernel_signature demangles the function's name out
 * of it; NULL: it is no name of C++. */
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

/* Has another function of the module the short name, too? `whole` is this
 * kernel's own. Regions of one function do not count. */
static bool shares_name(const ompjit_kernel *kernel, const char *whole)
{
    const ompjit__unit *unit = &kernel->mod->unit;
    bool shared = false;
    for (unsigned i = 0; i < unit->nkernels && !shared; i++) {
        if (strcmp(unit->kernels[i].name, ompjit__desc_of(kernel)->name))
            continue;
        char *other = ompjit__kernel_signature(unit->kernels[i].symbol);
        shared = other && strcmp(other, whole) != 0;
        free(other);
    }
    return shared;
}

/* Whole where the short name says too little: for instances of templates, and
 * for overloaded functions. The caller frees it. */
char *ompjit__kernel_title(const ompjit_kernel *kernel)
{
    char *whole = ompjit__kernel_signature(ompjit__desc_of(kernel)->symbol);
    if (whole && (memchr(whole, '<', strcspn(whole, "(")) ||
                  shares_name(kernel, whole)))
        return whole;
    free(whole);
    return ompjit__strdup(ompjit__desc_of(kernel)->name);
}

/* Appends "saxpy:3, axpy<float>(int, float*):8", in the unit's order. A title
 * that runs out of memory becomes the short name. */
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

/* NOT_FOUND for no such kernel, and for several: the list shows which names
 * would have told them apart. */
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

/* Kernels are few, so they are searched one by one. An ambiguous name is
 * refused: which one would be launched must not depend on their order. */
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

/* The mode is clang's until an image for a GPU has told that openmp-opt made
 * the kernel SPMD: that is noted in the kernel by ompjit__note_modes. */
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
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    bool made_spmd = atomic_load_explicit(&kernel->made_spmd,
                                          memory_order_relaxed);
    ompjit_kernel_info full = {.line = k->line,
                                 .mode = made_spmd
                                             ? OMPJIT_MODE_GENERIC_SPMD
                                             : (ompjit_mode)k->mode,
                                 .nparams = k->nparams,
                                 .max_threads = ompjit__bound(k->max_threads),
                                 .max_teams = ompjit__bound(k->max_teams)};
    snprintf(full.symbol, sizeof full.symbol, "%s", k->symbol);
    snprintf(full.name, sizeof full.name, "%s", k->name);
    ompjit__result_fill(OMPJIT__STRUCT_kernel_info, &full, info);
    return OMPJIT_OK;
}

/* `i` counts the parameters that a launch gives, without the environment. */
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
        .bytes = ompjit__value_size(p),
        .is_pointer = p->kind == OMPJIT__PARAM_POINTER,
        .is_float = p->kind == OMPJIT__PARAM_FLOAT,
        .source_order = p->source_order};
    snprintf(full.name, sizeof full.name, "%s", p->name);
    ompjit__result_fill(OMPJIT__STRUCT_param_info, &full, info);
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- launch */

/* Only sets a bit: later target constructs read it when they look for what to
 * fold. Any thread. */
ompjit_status ompjit_kernel_fold_contents(ompjit_kernel *kernel,
                                          const char *param,
                                          ompjit_error *err)
{
    if (!kernel || !param)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_fold_contents: kernel and the "
                            "parameter's name are needed");
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    unsigned at;
    ompjit_status status =
        ompjit__find_param(k, &(ompjit_arg){.name = param}, 0, &at, err);
    if (status)
        return status;
    if (at >= 64 || k->params[at].kind != OMPJIT__PARAM_POINTER)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "kernel %s: %s is no pointer among the first 64 "
                            "parameters", k->name, param);
    atomic_fetch_or(&kernel->contents, UINT64_C(1) << at);
    return OMPJIT_OK;
}

/* The arrays of facts are on this stack: the variant that is built copies them.
 * Without a queue it returns when the kernel has ended. With one, `args` are
 * read before it returns. Any thread. */
ompjit_status ompjit_kernel_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err)
{
    ompjit_status status =
        ompjit__launch_check(__func__, kernel, dev, args, nargs, err);
    if (status)
        return status;
    uint64_t values[ompjit__desc_of(kernel)->nparams + 1];
    ompjit__request request;
    ompjit__fact_arrays arrays;
    status = ompjit__kernel_request(kernel, launch, &request, err);
    if (!status)
        status = ompjit__kernel_values(kernel, args, nargs, values, &request,
                                       &arrays, err);
    if (status)
        return status;
    if (request.queue)
        return ompjit__queue_launch(kernel, dev, launch, args, nargs, &request,
                                    values, err);
    return ompjit__run(kernel->mod, kernel->index, dev, &request, values, nargs,
                       NULL, err);
}

/* On each device that can; of several the first that cannot. Only what a signal
 * handler may call, too. No allocation: ompjit__fail writes into the caller's
 * struct. */
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

/* May be called by a signal handler: reads only what was set before
 * devices_known, and takes no lock. The symbol's address, not its text, is
 * compared by the device. Does not wait for the launches to end. */
ompjit_status ompjit_kernel_abort(ompjit_kernel *kernel, ompjit_error *err)
{
    if (!kernel)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_abort: a kernel is needed");
    const ompjit_context *ctx = kernel->mod->ctx;
    bool known = atomic_load(&ctx->devices_known);
    return abort_on(ctx->devices, known ? ctx->ndevices : 0,
                    ompjit__desc_of(kernel)->symbol, err);
}

/* NULL: launches of all kernels. A signal handler may call it, too. */
ompjit_status ompjit_device_abort(ompjit_device *dev, ompjit_error *err)
{
    if (!dev)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_device_abort: a device is needed");
    return abort_on(&dev, 1, NULL, err);
}

/* NOT_FOUND also where the last launch was on another device: only one launch
 * is remembered. INVALID for another context's device. */
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
    /* A launch holds it for a few stores and never waits for it. */
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
                            ompjit__desc_of(kernel)->name);
    ompjit__result_fill(OMPJIT__STRUCT_launch_info, &last, info);
    return OMPJIT_OK;
}
