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
 *
 * A program may give rows of its own (__tgt_rtl_set_function_ptr_map), which
 * then are in the tables of all modules.
 */
#include <stdlib.h>

#include <string.h>

#include "launch/module.h"
#include "omptarget/entry_points.h"
#include "omptarget/program.h"

/* The rows that the program has given for a device, ordered by `host`. */
struct ompjit__function_map {
    struct ompjit__function_map *next;
    const ompjit_device *dev;
    size_t n;
    ompjit__indirect_call rows[];
};

/* Is the entry a function, or a table of virtual ones, of this module's? */
static bool belongs(const ompjit__global *g, const ompjit_module *mod)
{
    return g->mod == mod && g->flags & OMPJIT__ENTRY_CALLED;
}

/* For qsort and bsearch: by the host's address. */
static int by_host(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const ompjit__indirect_call *)a)->host;
    uintptr_t y = (uintptr_t)((const ompjit__indirect_call *)b)->host;
    return (x > y) - (x < y);
}

/* A function is one row, a table one for each word. */
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

/* Never NULL: a device without rows of the program's has an empty map. Under
 * the lock. */
static const struct ompjit__function_map *
map_of(const struct ompjit__tgt *tgt, const ompjit_device *dev)
{
    static const struct ompjit__function_map none;
    const struct ompjit__function_map *map = tgt->maps;
    while (map && map->dev != dev)
        map = map->next;
    return map ? map : &none;
}

/* Drops the rows of `calls` that the program has given others for, appends
 * those, and returns the number of rows. */
static size_t merge(const struct ompjit__function_map *map,
                    ompjit__indirect_call *calls, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!map->n || !bsearch(&calls[i], map->rows, map->n,
                                sizeof *map->rows, by_host))
            calls[kept++] = calls[i];
    memcpy(calls + kept, map->rows, map->n * sizeof *map->rows);
    return kept + map->n;
}

/* The calls that kernels of `mod` can make, by the first n globals: of all
 * modules where a function has one address in all images; else its own. */
static ompjit_status set_table(struct ompjit__tgt *tgt, ompjit_device *dev,
                               ompjit_module *mod, size_t n,
                               ompjit_error *err)
{
    const struct ompjit__function_map *map = map_of(tgt, dev);
    size_t ncalls = 0, room = 1 + map->n;
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
        ncalls = merge(map, calls, ncalls);
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

/* A module's entries are entered one by one; its table is made when the last
 * one comes, so that it is made once. */
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

/* Only where an address is the same in all images do tables have rows of other
 * modules, which then have to go. */
ompjit_status ompjit__indirect_leave(struct ompjit__tgt *tgt,
                                     ompjit_device *dev, ompjit_error *err)
{
    return dev->caps.common_functions
               ? set_tables(tgt, dev, atomic_load(&dev->present->globals), err)
               : OMPJIT_OK;
}

/* -------------------------------------------------- what the program gives */

/* A copy in order. NULL: no memory, or two rows have the same host address. */
static struct ompjit__function_map *
new_map(const ompjit_device *dev, const ompjit__indirect_call *rows, size_t n,
        ompjit_error *err)
{
    struct ompjit__function_map *map;
    if (n > (SIZE_MAX / 2 - sizeof *map) / sizeof *rows ||
        !(map = malloc(sizeof *map + n * sizeof *rows))) {
        ompjit__no_memory(err, OMPJIT_STAGE_API);
        return NULL;
    }
    *map = (struct ompjit__function_map){.dev = dev, .n = n};
    if (n)
        memcpy(map->rows, rows, n * sizeof *rows);
    qsort(map->rows, n, sizeof *rows, by_host);
    for (size_t i = 1; i < n; i++)
        if (map->rows[i].host == map->rows[i - 1].host) {
            ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                         "__tgt_rtl_set_function_ptr_map: two rows have the "
                         "host address %p", map->rows[i].host);
            free(map);
            return NULL;
        }
    return map;
}

/* In place of the device's last one. */
static void put_map(struct ompjit__tgt *tgt, struct ompjit__function_map *map)
{
    struct ompjit__function_map **at = &tgt->maps;
    while (*at && (*at)->dev != map->dev)
        at = &(*at)->next;
    struct ompjit__function_map *old = *at;
    map->next = old ? old->next : NULL;
    *at = map;
    free(old);
}

/* The tables of modules that are there, and of those to come. */
static ompjit_status renew_tables(struct ompjit__tgt *tgt, ompjit_device *dev,
                                  ompjit_error *err)
{
    const struct ompjit__function_map *map = map_of(tgt, dev);
    ompjit_module *mod, *last = NULL;
    size_t n = atomic_load(&dev->present->globals);
    ompjit_status st = ompjit__device_calls(dev, map->rows, map->n, err);
    for (size_t at = 0; !st && (mod = ompjit__tgt_next_module(tgt, &at));
         last = mod)
        if (mod != last)
            st = set_table(tgt, dev, mod, n, err);
    return st;
}

/* On success the rows replace those that the program gave for the device
 * before. If a table cannot be made then, the map stays: later modules get its
 * rows. */
static ompjit_status set_map(ompjit_context *ctx, int32_t device, uint64_t n,
                             const ompjit__indirect_call *rows,
                             ompjit_error *err)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    ompjit_device *dev;
    if (n && !rows)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "__tgt_rtl_set_function_ptr_map: %llu rows at NULL",
                            (unsigned long long)n);
    if (ompjit__tgt_routine_device(tgt, device, &dev) != OMPJIT__ON_DEVICE)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "__tgt_rtl_set_function_ptr_map: there is no "
                            "device %d", device);
    ompjit_status st = ompjit__device_ready(dev, err);
    if (!st)
        st = ompjit__tgt_globals(tgt, dev, err);
    struct ompjit__function_map *map =
        st ? NULL : new_map(dev, rows, (size_t)n, err);
    if (!map)
        return st ? st : err->status;
    pthread_mutex_lock(&tgt->lock);
    put_map(tgt, map);
    st = renew_tables(tgt, dev, err);
    pthread_mutex_unlock(&tgt->lock);
    return st;
}

/* 0 on success, as the entry point of LLVM returns it. */
int32_t ompjit__s_set_function_ptr_map(ompjit_context *ctx, int32_t device,
                                       uint64_t n,
                                       const ompjit__indirect_call *rows)
{
    ompjit_error err;
    if (!set_map(ctx, device, n, rows, &err))
        return 0;
    ompjit__tgt_fail(ctx->tgt, &err);
    return 1;
}

/* The context ends: no lock is needed. */
void ompjit__function_maps_free(struct ompjit__tgt *tgt)
{
    for (struct ompjit__function_map *m = tgt->maps, *next; m; m = next) {
        next = m->next;
        free(m);
    }
}
