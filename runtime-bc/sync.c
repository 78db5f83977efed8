/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Barriers, single and masked, critical sections, locks, flush.
 */
#include "rt.h"

/* ------------------------------------------------------------- barriers */

/* For a team of several warps of which the last is not whole: no barrier of
 * the hardware counts such a team. Warps that have come, and how often all
 * had. */
static SHARED uint32_t arrived, phase;

/* Any phase is good to begin with, but LLVM takes what nobody stores for
 * undefined, and a loop that waits for it to change for one that never ends. */
EXPORT void ompjit_barrier_init(void)
{
    arrived = 0;
    phase = 0;
}

static void warps_barrier(uint32_t warps)
{
    uint32_t before = __scoped_atomic_load_n(&phase, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_WRKGRP);
    plat_fence_team();
    if (__scoped_atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP) == warps - 1) {
        arrived = 0;
        plat_fence_team();
        __scoped_atomic_fetch_add(&phase, 1, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
    }
    while (__scoped_atomic_load_n(&phase, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP) == before)
        plat_yield();
    plat_fence_team();
}

NOINLINE EXPORT void ompjit_team_barrier(uint32_t n)
{
    enum { TEAM_BARRIER = 7 };
    if (PLAT_LOOPED) {
        plat_hw_barrier(); /* of the threads that the loop goes over */
        return;
    }
    if (PLAT_COUNTS_THREADS || n % PLAT_WARP == 0) {
        plat_hw_barrier_some(TEAM_BARRIER, n);
        return;
    }
    uint32_t lanes = lanes_below(n);
    plat_warp_sync(lanes);
    if (n > PLAT_WARP) {
        if (plat_lane() == 0)
            warps_barrier((n + PLAT_WARP - 1) / PLAT_WARP);
        plat_warp_sync(lanes);
    }
}

INLINE bool barrier(int32_t gtid)
{
    wait_for_tasks();
    return has_context(gtid) ? context_barrier((uint32_t)gtid)
                             : barrier_here();
}

EXPORT void __kmpc_barrier(ident *loc, int32_t gtid)
{
    barrier(gtid);
}

/* A barrier behind which threads leave a cancelled region
 * (libompjit/passes/execution/cancel_barriers.cc). */
EXPORT int32_t __kmpc_cancel_barrier(ident *loc, int32_t gtid)
{
    return barrier(gtid);
}

EXPORT NOINLINE void __kmpc_barrier_simple_spmd(ident *loc, int32_t gtid)
{
    plat_barrier();
}

EXPORT NOINLINE void __kmpc_barrier_simple_generic(ident *loc, int32_t gtid)
{
    plat_barrier_apart();
    if (PLAT_MAIN_WORKS && ompjit_prepared && plat_tid() == main_tid())
        ompjit_run_work(ompjit_work);
}

EXPORT void __kmpc_syncwarp(uint64_t mask)
{
    if (ompjit_fold_threads != 1)
        plat_warp_sync((uint32_t)mask);
}

EXPORT uint64_t __kmpc_warp_active_thread_mask(void)
{
    return ompjit_fold_threads == 1 ? 1 : plat_together();
}

EXPORT void __kmpc_flush(ident *loc)
{
    plat_fence_device();
}

/* --------------------------------------------------- one of the threads */

EXPORT int32_t __kmpc_master(ident *loc, int32_t gtid)
{
    return context_thread(context_of(gtid)) == 0;
}
EXPORT void __kmpc_end_master(ident *loc, int32_t gtid)
{
}
EXPORT int32_t __kmpc_masked(ident *loc, int32_t gtid, int32_t filter)
{
    return (int32_t)context_thread(context_of(gtid)) == filter;
}
EXPORT void __kmpc_end_masked(ident *loc, int32_t gtid)
{
}
EXPORT int32_t __kmpc_single(ident *loc, int32_t gtid)
{
    return __kmpc_master(loc, gtid);
}
EXPORT void __kmpc_end_single(ident *loc, int32_t gtid)
{
}

/* ---------------------------------------------------------------- locks */

INLINE bool locks_matter(void)
{
    return ompjit_fold_threads != 1 || ompjit_fold_teams != 1;
}
INLINE bool lock_swap(uint32_t *lock, uint32_t *from)
{
    return __scoped_atomic_compare_exchange_n(
        lock, from, plat_lock_mark(), false, __ATOMIC_ACQUIRE,
        __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
/* A lock that a launch held when it failed is open. */
INLINE bool lock_try(uint32_t *lock)
{
    uint32_t holder = 0;
    return lock_swap(lock, &holder) ||
           (plat_lock_lost(holder) && lock_swap(lock, &holder));
}
INLINE void lock_take(uint32_t *lock)
{
    while (!lock_try(lock))
        plat_yield();
}
INLINE void lock_drop(uint32_t *lock)
{
    __scoped_atomic_store_n(lock, 0, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}

EXPORT void __kmpc_critical(ident *loc, int32_t gtid, void *name)
{
    if (locks_matter())
        lock_take(name);
}
EXPORT void __kmpc_critical_with_hint(ident *loc, int32_t gtid, void *name,
                                      int32_t hint)
{
    __kmpc_critical(loc, gtid, name);
}
EXPORT void __kmpc_end_critical(ident *loc, int32_t gtid, void *name)
{
    if (locks_matter())
        lock_drop(name);
}

/* omp_lock_t is a word of pointer size. */
EXPORT void omp_init_lock(void *lock)
{
    *(uint64_t *)lock = 0;
}
EXPORT void omp_init_lock_with_hint(void *lock, int32_t hint)
{
    omp_init_lock(lock);
}
EXPORT void omp_destroy_lock(void *lock)
{
}
EXPORT void omp_set_lock(void *lock)
{
    lock_take(lock);
}
EXPORT void omp_unset_lock(void *lock)
{
    lock_drop(lock);
}
EXPORT int32_t omp_test_lock(void *lock)
{
    return lock_try(lock);
}

/* omp_nest_lock_t is such a word, too: who holds it, and in the lower bits how
 * often. Only its holder finds itself there. */
enum { NEST_BITS = PLAT_NEST_BITS };

EXPORT void omp_init_nest_lock(void *lock)
{
    omp_init_lock(lock);
}
EXPORT void omp_init_nest_lock_with_hint(void *lock, int32_t hint)
{
    omp_init_lock(lock);
}
EXPORT void omp_destroy_nest_lock(void *lock)
{
}
INLINE bool nest_lost(uint64_t word)
{
    return plat_lock_lost((uint32_t)(word >> NEST_BITS >> PLAT_THREAD_BITS));
}
EXPORT int32_t omp_test_nest_lock(void *lock)
{
    uint64_t *word = lock;
    uint64_t me =
        plat_lock_holder((uint64_t)plat_team() * plat_ntid() + plat_tid());
    uint64_t now = __scoped_atomic_load_n(word, __ATOMIC_RELAXED,
                                          __MEMORY_SCOPE_DEVICE);
    if (now >> NEST_BITS == me) {
        __scoped_atomic_store_n(word, now + 1, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_DEVICE);
        return (int32_t)((now + 1) & ((1 << NEST_BITS) - 1));
    }
    if (now && !nest_lost(now))
        return 0;
    return __scoped_atomic_compare_exchange_n(
        word, &now, me << NEST_BITS | 1, false, __ATOMIC_ACQUIRE,
        __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
EXPORT void omp_set_nest_lock(void *lock)
{
    while (!omp_test_nest_lock(lock))
        plat_yield();
}
EXPORT void omp_unset_nest_lock(void *lock)
{
    uint64_t *word = lock, next = *word - 1;
    if (!(next & ((1 << NEST_BITS) - 1)))
        next = 0;
    __scoped_atomic_store_n(word, next, __ATOMIC_RELEASE,
                            __MEMORY_SCOPE_DEVICE);
}
