/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Cancellation: `cancel` and `cancellation point` where the program has asked
 * for it (OMP_CANCELLATION); else none of this is in a kernel.
 *
 * The barriers of a region's threads are counted, so that all of them agree on
 * when a cancellation counts: from the barrier behind it on, and at
 * cancellation points at once. A thread that leaves a cancelled region comes to one more
 * barrier of the others (clang's code does that) and then to the region's end,
 * where it goes on taking part in their barriers until all have come.
 */
#include "rt.h"

const uint32_t ompjit_use_cancel = 0;

enum { KIND_PARALLEL = 1, KIND_TASKGROUP = 4 };

/* Barriers that a team has passed, and threads that wait at the next. */
static SHARED uint32_t barriers, waiting;
/* The last barrier to which a thread inside of the region has come. */
static SHARED uint32_t last_inside;
/* The barrier from which on the region is cancelled; 0: it is not. */
static SHARED uint32_t region_from;
/* The barrier behind a cancelled loop, or `sections`. */
static SHARED uint32_t loop_until;

INLINE uint32_t get(const uint32_t IN_SHARED *at)
{
    return __scoped_atomic_load_n(at, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_WRKGRP);
}
INLINE void set(uint32_t IN_SHARED *at, uint32_t value)
{
    __scoped_atomic_store_n(at, value, __ATOMIC_RELEASE,
                            __MEMORY_SCOPE_WRKGRP);
}

EXPORT void ompjit_cancel_init(void)
{
    set(&barriers, 0);
    set(&waiting, 0);
    set(&last_inside, 0);
    set(&region_from, 0);
    set(&loop_until, 0);
}

/* A barrier of n threads wherever each of them is: those of a warp need not
 * come together. */
static void meet(uint32_t n)
{
    enum { TEAM_BARRIER = 7 };
    uint32_t before = get(&barriers);
    plat_fence_team();
    bool last = __scoped_atomic_fetch_add(&waiting, 1, __ATOMIC_ACQ_REL,
                                          __MEMORY_SCOPE_WRKGRP) == n - 1;
    if (last) {
        set(&waiting, 0);
        set(&barriers, before + 1);
    }
    if (PLAT_COUNTS_THREADS)
        plat_hw_barrier_some(TEAM_BARRIER, n);
    else
        while (get(&barriers) == before)
            plat_yield();
    plat_fence_team();
}

INLINE bool has_come(uint32_t number)
{
    return (int32_t)(get(&barriers) - number) >= 0;
}

EXPORT bool ompjit_cancelled(void)
{
    uint32_t from = get(&region_from);
    return from && has_come(from);
}

EXPORT NOINLINE bool ompjit_counted_barrier(uint32_t n)
{
    set(&last_inside, get(&barriers) + 1);
    meet(n);
    return ompjit_cancelled();
}

EXPORT NOINLINE void ompjit_cancel_end(uint32_t n)
{
    uint32_t number;
    if (n <= 1)
        return;
    do {
        number = get(&barriers) + 1;
        meet(n);
    } while ((int32_t)(get(&last_inside) - number) >= 0);
    set(&region_from, 0);
}

/* --------------------------------------------------------------- taskgroups */

/* A thread's taskgroups that are open, and the one that is cancelled; 0: none
 * is. */
typedef struct groups {
    uint32_t open, cancelled;
} groups;

static groups *SHARED all_groups;

EXPORT void ompjit_groups_init(void)
{
    all_groups = NULL;
}
EXPORT void ompjit_groups_deinit(void)
{
    if (all_groups)
        free(all_groups);
}

INLINE groups *own_groups_if_any(void)
{
    return all_groups ? all_groups + plat_tid() : NULL;
}

EXPORT void ompjit_group_begin(void)
{
    groups *g = ompjit_own_element((void *IN_SHARED *)&all_groups, sizeof *g);
    g->open++;
}
EXPORT void ompjit_group_end(void)
{
    groups *g = own_groups_if_any();
    if (g->cancelled == g->open)
        g->cancelled = 0;
    g->open--;
}
EXPORT bool ompjit_group_cancelled(void)
{
    const groups *g = own_groups_if_any();
    return g && g->cancelled && g->cancelled == g->open;
}

static int32_t cancel_group(void)
{
    groups *g = own_groups_if_any();
    if (!g || !g->open)
        return 0; /* nothing to cancel */
    g->cancelled = g->open;
    return 1;
}

/* -------------------------------------------------------------------- calls */

EXPORT int32_t __kmpc_cancel(ident *loc, int32_t gtid, int32_t kind)
{
    if (!ompjit_use_cancel)
        return 0;
    if (kind == KIND_TASKGROUP)
        return cancel_group();
    if (context_is_many(context_of(gtid)))
        set(kind == KIND_PARALLEL ? &region_from : &loop_until,
            get(&barriers) + 1);
    return 1;
}

/* A thread alone has left what it has cancelled. */
EXPORT int32_t __kmpc_cancellationpoint(ident *loc, int32_t gtid, int32_t kind)
{
    if (!ompjit_use_cancel)
        return 0;
    if (kind == KIND_TASKGROUP)
        return ompjit_group_cancelled();
    if (!context_is_many(context_of(gtid)))
        return 0;
    if (kind == KIND_PARALLEL)
        return get(&region_from) != 0;
    return get(&loop_until) == get(&barriers) + 1;
}

EXPORT int32_t omp_get_cancellation(void)
{
    return (int32_t)ompjit_use_cancel;
}
