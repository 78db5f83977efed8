/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions of a program that regions call through pointers (`declare
 * target indirect`): each has a variable on the device that holds its address
 * there. The runtime looks functions up in a table of host and device address,
 * ordered by the first.
 */
#include <stdlib.h>

#include "launch/module.h"
#include "omptarget/program.h"

static bool belongs(const ompjit__global *g, const ompjit_module *mod)
{
    return g->mod == mod && g->flags & OMPJIT__ENTRY_INDIRECT;
}

static int by_host(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const ompjit__indirect_call *)a)->host;
    uintptr_t y = (uintptr_t)((const ompjit__indirect_call *)b)->host;
    return (x > y) - (x < y);
}

/* The address that the device's variable of that function holds. */
static ompjit_status read_call(ompjit_device *dev, const ompjit__global *g,
                               ompjit__indirect_call *out, ompjit_error *err)
{
    void *variable;
    size_t size;
    out->host = g->host;
    ompjit_status st = ompjit__module_symbol(g->mod, dev, g->symbol, &variable,
                                             &size, err);
    if (!st && size != sizeof out->device)
        st = ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                          "%s has %zu bytes and is no pointer to a function",
                          g->symbol, size);
    return st ? st
              : dev->ops->copy(dev, OMPJIT__COPY_FROM, &out->device, variable,
                               sizeof out->device, NULL, err);
}

ompjit_status ompjit__indirect_enter(struct ompjit__tgt *tgt,
                                     ompjit_device *dev, size_t index,
                                     ompjit_error *err)
{
    ompjit_module *mod = tgt->globals[index].mod;
    size_t all = atomic_load(&tgt->nglobals), n = 0;
    for (size_t i = index + 1; i < all; i++)
        if (belongs(&tgt->globals[i], mod))
            return OMPJIT_OK; /* when the last one is entered */
    ompjit__indirect_call *calls = calloc(index + 1, sizeof *calls);
    if (!calls)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; !st && i <= index; i++)
        if (belongs(&tgt->globals[i], mod))
            st = read_call(dev, &tgt->globals[i], &calls[n++], err);
    if (!st) {
        qsort(calls, n, sizeof *calls, by_host);
        st = ompjit__variants_calls(mod, dev, calls, n, err);
    }
    free(calls);
    return st;
}
