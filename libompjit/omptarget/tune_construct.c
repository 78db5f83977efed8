/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tuning of a target construct whose data is mapped: everything that its kernel
 * can reach is known here, and is saved and put back.
 */
#include <stdlib.h>

#include "mapping/construct.h"
#include "launch/tune.h"

/* All device memory that the kernel may change. */
struct reach {
    ompjit__buf regions; /* of ompjit_region */
    const char *unknown; /* what cannot be saved, once something cannot */
};

/* A region that is there already, at least as large, is not added again. Memory
 * that runs out is seen in regions.failed. */
static void add(struct reach *r, void *device, size_t size)
{
    ompjit_region region = {device, size};
    const ompjit_region *all = (const void *)r->regions.data;
    for (size_t i = 0; i < r->regions.size / sizeof region; i++)
        if (all[i].device == device && all[i].size >= size)
            return;
    if (size)
        ompjit__buf_add(&r->regions, &region, sizeof region);
}

/* Whole entries: a section may be smaller than what is mapped there. */
static void add_mapped(struct reach *r, const ompjit__construct *c)
{
    ompjit__present_lock(c->table);
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *it = &c->items[i];
        ompjit__mapped *entry = NULL;
        if (!(it->type & OMPJIT__MAP_LITERAL))
            ompjit__present_find(c->table, it->begin, (uint64_t)it->size,
                                 &entry);
        if (entry)
            add(r, entry->device, entry->end - entry->begin);
    }
    ompjit__present_unlock(c->table);
}

/* Nobody knows what a pointer passed by value points to. */
static void check_literals(struct reach *r, const ompjit__maps *maps,
                           const ompjit__kernel_desc *k)
{
    unsigned param = 0;
    for (int32_t i = 0; i < maps->n && param < k->nparams; i++) {
        uint64_t type = (uint64_t)maps->types[i];
        if (!(type & OMPJIT__MAP_TARGET_PARAM))
            continue;
        if (type & OMPJIT__MAP_LITERAL &&
            k->params[param].kind == OMPJIT__PARAM_POINTER && maps->bases[i])
            r->unknown = "it is passed an address, of what size is not known";
        param++;
    }
}

/* A kernel reaches a module's variables by their names. */
static ompjit_status add_variables(struct reach *r, const ompjit__call *call,
                                   ompjit_error *err)
{
    const ompjit__unit *unit = &call->mod->unit;
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0; i < unit->nglobals && !status; i++) {
        const ompjit__global_desc *g = &unit->globals[i];
        void *address;
        size_t size;
        if (g->flags & OMPJIT__ENTRY_LINK)
            r->unknown = "the program has variables that are linked";
        if (g->flags)
            continue;
        status = ompjit__module_symbol(call->mod, call->dev, g->symbol,
                                       &address, &size, err);
        if (!status)
            add(r, address, size);
    }
    return status;
}

/* Under no lock: the kernel runs many times, with the regions saved and
 * restored. */
static ompjit_status tune(const ompjit__call *call, const struct reach *r,
                          ompjit_error *err)
{
    ompjit_tune_options options = OMPJIT_TUNE_OPTIONS_INIT;
    options.saved = (const void *)r->regions.data;
    options.nsaved = (unsigned)(r->regions.size / sizeof(ompjit_region));
    if (r->regions.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    return ompjit__tune(call, &options, NULL, err);
}

/* Failures are logged, and the construct then runs untuned. c is NULL for a
 * kernel without mapped data; `privates` are its `size` bytes of private
 * copies. */
void ompjit__map_tune(const ompjit__construct *c, const ompjit__call *call,
                      void *privates, size_t size)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    struct reach r = {0};
    ompjit_error err;
    if (ompjit__device_ready(call->dev, &err) || !ompjit__tune_wanted(call))
        return;
    if (privates)
        add(&r, privates, size);
    if (c) {
        add_mapped(&r, c);
        check_literals(&r, c->maps, k);
    }
    ompjit_status status = add_variables(&r, call, &err);
    if (!status && !r.unknown)
        status = tune(call, &r, &err);
    if (status || r.unknown)
        ompjit__log(call->mod->ctx, "kernel %s:%u is not tuned: %s", k->name,
                    k->line, r.unknown ? r.unknown : err.text);
    ompjit__buf_free(&r.regions);
}
