/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions of a program that regions call through pointers (`declare
 * target indirect`): each has a variable on the device that holds its address
 * there. The runtime looks functions up in a table of host and device address,
 * ordered by the first, which on the host device has those of all the context's
 * modules.
 *
 * So have the tables of virtual functions of classes whose objects are mapped.
 * An object from the host points to one of its table's words, so each word is a
 * row: what the runtime knows of the host's is in the device's at the same place.
 */
#include <stdlib.h>

#include "launch/module.h"
#include "omptarget/program.h"

static bool belongs(const ompjit__global *g, const ompjit_module *mod)
{
    return g->mod == mod && g->flags & OMPJIT__ENTRY_CALLED;
}

static int by_host(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const ompjit__indirect_call *)a)->host;
    uintptr_t y = (uintptr_t)((const ompjit__indirect_call *)b)->host;
    return (x > y) - (x < y);
}

static size_t rows_of(const ompjit__global *g)
{
    return g->flags & OMPJIT__ENTRY_INDIRECT_VTABLE ? g->size / sizeof(void *)
                                                    : 1;
}

/* The address that the device's variable of that function or table holds, and
 * those of the table's other words. */
static ompjit_status read_calls(ompjit_device *dev, const ompjit__global *g,
                                ompjit__indirect_call *out, ompjit_error *err)
{
    void *variable;
    char *device;
    size_t size;
    ompjit_status st = ompjit__module_symbol(g->mod, dev, g->symbol, &variable,
                                             &size, err);
    if (!st && size != sizeof device)
        st = ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                          "%s has %zu bytes and is no pointer to a function",
                          g->symbol, size);
    if (!st)
        st = dev->ops->copy(dev, OMPJIT__COPY_FROM, &device, variable,
                            sizeof device, NULL, err);
    for (size_t i = 0; !st && i < rows_of(g); i++)
        out[i] = (ompjit__indirect_call){g->host + i * sizeof(void *),
                                         device + i * sizeof(void *)};
    return st;
}

/* Is that entry the first of its module's? Those of a module stand together;
 * where another's came between them, the later ones have one, too. */
static bool leads(const struct ompjit__tgt *tgt, size_t index)
{
    const ompjit__global *g = &tgt->globals[index];
    if (!g->mod || !belongs(g, g->mod))
        return false;
    for (size_t i = index; i && tgt->globals[i - 1].mod == g->mod; i--)
        if (belongs(&tgt->globals[i - 1], g->mod))
            return false;
    return true;
}

/* Can kernels of `mod` call what entry i stands for? */
static bool is_called(const struct ompjit__tgt *tgt, const ompjit_device *dev,
                      const ompjit_module *mod, size_t i)
{
    const ompjit__global *g = &tgt->globals[i];
    return g->mod && belongs(g, dev->caps.common_functions ? g->mod : mod);
}

/* The calls that kernels of `mod` can make, by the first n globals: of all
 * modules where a function has one address in all images; else its own. */
static ompjit_status set_table(struct ompjit__tgt *tgt, ompjit_device *dev,
                               ompjit_module *mod, size_t n,
                               ompjit_error *err)
{
    size_t ncalls = 0, room = 1;
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < n; i++)
        room += is_called(tgt, dev, mod, i) ? rows_of(&tgt->globals[i]) : 0;
    ompjit__indirect_call *calls = calloc(room, sizeof *calls);
    if (!calls)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    for (size_t i = 0; !st && i < n; i++)
        if (is_called(tgt, dev, mod, i)) {
            st = read_calls(dev, &tgt->globals[i], &calls[ncalls], err);
            ncalls += rows_of(&tgt->globals[i]);
        }
    if (!st) {
        qsort(calls, ncalls, sizeof *calls, by_host);
        st = ompjit__variants_calls(mod, dev, calls, ncalls, err);
    }
    free(calls);
    return st;
}

/* A pointer of one library's may be called in another's kernel: where that can
 * be, each module gets a new table when one comes or goes. */
static ompjit_status set_tables(struct ompjit__tgt *tgt, ompjit_device *dev,
                                size_t n, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; !st && i < n; i++)
        if (leads(tgt, i))
            st = set_table(tgt, dev, tgt->globals[i].mod, n, err);
    return st;
}

ompjit_status ompjit__indirect_enter(struct ompjit__tgt *tgt,
                                     ompjit_device *dev, size_t index,
                                     ompjit_error *err)
{
    size_t all = atomic_load(&tgt->nglobals);
    for (size_t i = index + 1; i < all; i++)
        if (belongs(&tgt->globals[i], tgt->globals[index].mod))
            return OMPJIT_OK; /* when the last one is entered */
    return dev->caps.common_functions
               ? set_tables(tgt, dev, index + 1, err)
               : set_table(tgt, dev, tgt->globals[index].mod, index + 1, err);
}

ompjit_status ompjit__indirect_leave(struct ompjit__tgt *tgt,
                                     ompjit_device *dev, ompjit_error *err)
{
    return dev->caps.common_functions
               ? set_tables(tgt, dev, atomic_load(&dev->present->globals), err)
               : OMPJIT_OK;
}
