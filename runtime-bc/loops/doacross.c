/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops whose iterations wait for others: ordered(n) with doacross dependences.
 * A team has one such loop at a time, with a bit for each iteration in device
 * memory. In a loop of one thread what an iteration waits for has been done.
 */
#include "rt.h"

/* kmp_dim: a loop of the nest. */
typedef struct dimension {
    int64_t lower, upper, step;
} dimension;

typedef struct nest {
    uint32_t dimensions;
    uint32_t leavers;  /* threads that are through   */
    uint32_t *done;    /* a bit for each iteration   */
    struct extent {
        int64_t lower, step;
        uint64_t count;
    } extents[];
} nest;

static nest *SHARED team_nest;

/* Iterations of a loop. `upper` is the last one; but clang, whose loops all
 * count from 0 by 1, gives their number there. */
INLINE uint64_t extent_count(const dimension *d)
{
    uint64_t up = (uint64_t)d->upper - (uint64_t)d->lower;
    if (d->step > 0 ? d->upper < d->lower : d->upper > d->lower)
        return 0;
    if (d->step == 1)
        return d->lower == 0 ? up : up + 1;
    return d->step > 0 ? up / (uint64_t)d->step + 1
                       : -up / -(uint64_t)d->step + 1;
}

static NOINLINE nest *nest_new(uint32_t n, const dimension *d)
{
    size_t head = sizeof(nest) + n * sizeof(struct extent);
    uint64_t all = 1;
    bool huge = false;
    for (uint32_t i = 0; i < n; i++)
        huge |= __builtin_mul_overflow(all, extent_count(&d[i]), &all);
    size_t bits = all / 32 * 4 + 4;
    nest *new = huge ? NULL : malloc(head + bits);
    if (!new)
        plat_fail("out of device memory for a doacross loop");
    new->dimensions = n;
    new->leavers = 0;
    new->done = (uint32_t *)((char *)new + head);
    for (uint32_t i = 0; i < n; i++) {
        struct extent *e = &new->extents[i];
        e->lower = d[i].lower;
        e->step = d[i].step;
        e->count = extent_count(&d[i]);
    }
    __builtin_memset(new->done, 0, bits);
    return new;
}

/* The number of the iteration that `at` names; false if there is none. */
INLINE bool find(const nest *l, const int64_t *at, uint64_t *number)
{
    *number = 0;
    for (uint32_t i = 0; i < l->dimensions; i++) {
        const struct extent *e = &l->extents[i];
        if (e->step > 0 ? at[i] < e->lower : at[i] > e->lower)
            return false;
        uint64_t k = (uint64_t)at[i] - (uint64_t)e->lower;
        if (e->step != 1)
            k = e->step > 0 ? k / (uint64_t)e->step : -k / -(uint64_t)e->step;
        if (k >= e->count)
            return false;
        *number = *number * e->count + k;
    }
    return true;
}

INLINE bool is_shared_loop(uint32_t context)
{
    return context_is_many(context) && context_threads(context) > 1;
}

EXPORT void __kmpc_doacross_init(ident *loc, int32_t gtid, int32_t n,
                                 const dimension *dimensions)
{
    uint32_t context = context_of(gtid);
    if (!is_shared_loop(context))
        return;
    context_barrier(context);
    if (context_thread(context) == 0)
        team_nest = nest_new((uint32_t)n, dimensions);
    context_barrier(context);
}

EXPORT void __kmpc_doacross_wait(ident *loc, int32_t gtid, const int64_t *at)
{
    uint64_t number;
    if (!is_shared_loop(context_of(gtid)) || !find(team_nest, at, &number))
        return;
    uint32_t *word = &team_nest->done[number / 32], bit = 1u << number % 32;
    while (!(__scoped_atomic_load_n(word, __ATOMIC_RELAXED,
                                    __MEMORY_SCOPE_WRKGRP) & bit))
        plat_yield();
    plat_fence_team();
}

EXPORT void __kmpc_doacross_post(ident *loc, int32_t gtid, const int64_t *at)
{
    uint64_t number;
    if (!is_shared_loop(context_of(gtid)) || !find(team_nest, at, &number))
        return;
    plat_fence_team();
    __scoped_atomic_fetch_or(&team_nest->done[number / 32], 1u << number % 32,
                             __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

/* The last thread to leave frees what all used. */
EXPORT void __kmpc_doacross_fini(ident *loc, int32_t gtid)
{
    uint32_t context = context_of(gtid);
    if (!is_shared_loop(context))
        return;
    nest *l = team_nest;
    if (__scoped_atomic_fetch_add(&l->leavers, 1, __ATOMIC_ACQ_REL,
                                  __MEMORY_SCOPE_WRKGRP) ==
        context_threads(context) - 1)
        free(l);
}
