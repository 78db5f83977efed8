/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reductions. clang generates the functions that know the data: one that
 * combines a lane's values with those of the lane `offset` above it, one that
 * moves the first lanes' values to the first warp, and those that move or
 * combine a team's record in the launch's buffer.
 */
#include "rt.h"

typedef void (*shuffle_fn)(void *data, int16_t lane, int16_t offset,
                           int16_t algorithm);
typedef void (*gather_fn)(void *data, int32_t warps);
typedef void (*record_fn)(void *buffer, int32_t index, void *data);

/* This algorithm of clang's combines only in lanes below `offset`, so that it
 * serves for any number of lanes: those from 0 to n - 1. */
enum { FIRST_LANES = 1 };

/* The same for all threads of a team that loops go over: n may be another in
 * each, the rounds are the same. In a round that others only need, a thread's
 * lane is none of those that combine. */
INLINE void reduce_lanes_looped(void *data, shuffle_fn shuffle, uint32_t n)
{
    for (uint32_t most = PLAT_WARP; most > 1; most /= 2) {
        shuffle(data, (int16_t)plat_lane(), (int16_t)(n / 2), FIRST_LANES);
        n = (n + 1) / 2;
    }
}

INLINE void reduce_lanes(void *data, shuffle_fn shuffle, uint32_t n)
{
    if (PLAT_LOOPED) {
        reduce_lanes_looped(data, shuffle, n);
        return;
    }
    for (; n > 1; n = (n + 1) / 2)
        shuffle(data, (int16_t)plat_lane(), (int16_t)(n / 2), FIRST_LANES);
}

/* The first warp's; what others have is of no use any more. */
INLINE void reduce_first_warp(void *data, shuffle_fn shuffle, uint32_t n)
{
    if (PLAT_LOOPED || plat_tid() < PLAT_WARP)
        reduce_lanes(data, shuffle, n);
}

/* The values of the block's first n threads, all of which call. Thread 0 has the
 * result, and 1 is returned to it. */
INLINE int32_t reduce_block(void *data, uint32_t n, shuffle_fn shuffle,
                            gather_fn gather)
{
    uint32_t lanes = n - (plat_tid() & ~(PLAT_WARP - 1));
    if (n % PLAT_WARP == 0 || lanes > PLAT_WARP)
        lanes = PLAT_WARP;
    reduce_lanes(data, shuffle, lanes);
    if (n > PLAT_WARP) {
        uint32_t warps = (n + PLAT_WARP - 1) / PLAT_WARP;
        gather(data, (int32_t)warps);
        reduce_first_warp(data, shuffle, warps);
    }
    return plat_tid() == 0;
}

EXPORT ALWAYS_INLINE int32_t
__kmpc_nvptx_parallel_reduce_nowait_v2(ident *loc, uint64_t size, void *data,
                                       shuffle_fn shuffle, gather_fn gather)
{
    uint32_t n = threads_here();
    /* Not all come to the end of a cancelled region, whose result nobody may
     * use. */
    if (ompjit_use_cancel && n > 1 && ompjit_counted_barrier(n))
        return 0;
    /* Loops over threads have one way to the end. */
    return n == 1 && !PLAT_LOOPED ? 1
                                  : reduce_block(data, n, shuffle, gather);
}

INLINE launch_environment *launch(void)
{
    return (launch_environment *)ompjit_launch;
}

EXPORT void *__kmpc_reduction_get_fixed_buffer(void)
{
    return launch()->reduction_buffer;
}

static SHARED uint32_t is_last_team;

/* Stores this team's record; true in all threads of the last team to do so.
 * The counter is 0 again after the last, for the next launch. */
INLINE bool record_team(void *buffer, void *data, record_fn store, bool spmd)
{
    uint32_t teams = plat_teams();
    if (!spmd || plat_tid() == 0) {
        store(buffer, (int32_t)plat_team(), data);
        plat_fence_device();
        uint32_t *done = &launch()->teams_done;
        bool last = __scoped_atomic_fetch_add(done, 1, __ATOMIC_ACQ_REL,
                                              __MEMORY_SCOPE_DEVICE) ==
                    teams - 1;
        if (last)
            *done = 0;
        is_last_team = last;
    }
    if (spmd)
        plat_barrier();
    return is_last_team;
}

/* No team waits for another: the one that comes last combines the records of
 * all, always in the same order. First each thread combines every n-th, and
 * leaves what it has in a record that no other read; then the first warp
 * combines those, and its lanes' values. Blocks of less than a warp, and generic
 * mode, where only the main thread comes here, have one thread for it all. A
 * CPU has few teams: their loop in vectors would be most of a kernel's code. */
EXPORT ALWAYS_INLINE int32_t __kmpc_nvptx_teams_reduce_nowait_v2(
    ident *loc, void *buffer, uint32_t records, uint64_t size, void *data,
    shuffle_fn shuffle, gather_fn gather, record_fn store, record_fn store_add,
    record_fn load, record_fn load_add)
{
    bool spmd = is_spmd();
    uint32_t teams = plat_teams(), tid = spmd ? plat_tid() : 0;
    if (teams == 1)
        return tid == 0;
    if (!record_team(buffer, data, store, spmd))
        return 0;
    plat_fence_device();
    uint32_t n = spmd && plat_ntid() >= PLAT_WARP ? plat_ntid() : 1;
    for (uint32_t count = teams;; count = n, n = PLAT_WARP) {
        if (n > count)
            n = count;
        if (tid < n)
            load(buffer, (int32_t)tid, data);
#ifndef __NVPTX__
#pragma clang loop unroll(disable) vectorize(disable)
#endif
        for (uint32_t i = tid + n; tid < n && i < count; i += n)
            load_add(buffer, (int32_t)i, data);
        if (n <= PLAT_WARP)
            break;
        if (tid < n)
            store(buffer, (int32_t)tid, data);
        plat_barrier();
    }
    if (spmd)
        reduce_first_warp(data, shuffle, n);
    return tid == 0;
}

/* Lanes that shuffle: a warp's threads in the region, or all of the block. */
INLINE uint32_t shuffle_mask(void)
{
    uint32_t n = ompjit_size;
    return n > 1 ? lanes_below(n) : ~0u;
}

EXPORT int32_t __kmpc_shuffle_int32(int32_t value, int16_t delta, int16_t width)
{
    return plat_shuffle_down(shuffle_mask(), value, (uint16_t)delta,
                             (uint16_t)width);
}
EXPORT int64_t __kmpc_shuffle_int64(int64_t value, int16_t delta, int16_t width)
{
    return plat_shuffle_down_64(shuffle_mask(), value, (uint16_t)delta,
                                (uint16_t)width);
}

/* The host's way, a lock around the combination, for front ends that use it. */
void __kmpc_critical(ident *loc, int32_t gtid, void *name);
void __kmpc_end_critical(ident *loc, int32_t gtid, void *name);

EXPORT int32_t __kmpc_reduce_nowait(ident *loc, int32_t gtid, int32_t n,
                                    size_t size, void *data,
                                    void (*combine)(void *, void *), void *lock)
{
    __kmpc_critical(loc, gtid, lock);
    return 1;
}
EXPORT void __kmpc_end_reduce_nowait(ident *loc, int32_t gtid, void *lock)
{
    __kmpc_end_critical(loc, gtid, lock);
}
EXPORT int32_t __kmpc_reduce(ident *loc, int32_t gtid, int32_t n, size_t size,
                             void *data, void (*combine)(void *, void *),
                             void *lock)
{
    return __kmpc_reduce_nowait(loc, gtid, n, size, data, combine, lock);
}
EXPORT void __kmpc_end_reduce(ident *loc, int32_t gtid, void *lock)
{
    __kmpc_end_reduce_nowait(loc, gtid, lock);
    __kmpc_barrier(loc, gtid);
}
