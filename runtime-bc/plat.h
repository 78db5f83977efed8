/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The machine under the device runtime, for both of its builds: NVPTX through
 * clang's builtins, the host through the engine's functions in host_abi.h.
 * Threads are numbered in one dimension, as OpenMP launches them. What the
 * pipeline knows of the launch geometry replaces what the machine says. Kernels
 * of CUDA sources and bare ones have three dimensions.
 */
#ifndef OMPJIT_RT_PLAT_H
#define OMPJIT_RT_PLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline, unused))
#define NOINLINE __attribute__((noinline))
#define EXPORT __attribute__((visibility("hidden")))
#define ALWAYS_INLINE __attribute__((always_inline))
#define WEAK __attribute__((weak, visibility("default")))

#define PLAT_WARP 32u

/* Team-shared, and of no value when the kernel starts. */
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define IN_SHARED __attribute__((address_space(3)))

/* Threads of a block and teams of the launch where the pipeline knows them,
 * else 0: it replaces the initializers and makes them internal constants. */
extern const uint32_t ompjit_fold_threads WEAK;
extern const uint32_t ompjit_fold_teams WEAK;
/* 1: no kernel asks what task it is in. */
extern const uint32_t ompjit_fold_task_kinds WEAK;
/* 1: there are tasks whose event may be fulfilled after their end. */
extern const uint32_t ompjit_use_events WEAK;
/* 1: there are untied tasks, which may create themselves anew. */
extern const uint32_t ompjit_use_untied WEAK;
/* 1: what a kernel cancels is cancelled. */
extern const uint32_t ompjit_use_cancel WEAK;
/* 1: regions may begin by __kmpc_serialized_parallel, whose caller goes on with
 * the thread number that it had: contexts are read from the state. */
extern const uint32_t ompjit_use_serialized WEAK;
/* 1: no parallel region is inside another, and no setting is made: no thread
 * has a state of its own. */
extern const uint32_t ompjit_fold_flat WEAK;
/* 1: all kernels are SPMD. */
extern const uint32_t ompjit_fold_spmd WEAK;
/* 1: the host's form of a kernel that is called once for a team, and in which
 * loops go over the team's threads (libompjit/passes/host/team/form.cc). */
extern const uint32_t ompjit_fold_looped WEAK;
/* How many of those stand in the other dimensions: never 0 where the number of
 * all is known. */
extern const uint32_t ompjit_fold_threads_y WEAK, ompjit_fold_threads_z WEAK;
extern const uint32_t ompjit_fold_teams_y WEAK, ompjit_fold_teams_z WEAK;

void *malloc(size_t size);
void free(void *p);

#ifdef __NVPTX__

#include "assertion.h"

INLINE uint32_t plat_hw_tid(void) { return __nvvm_read_ptx_sreg_tid_x(); }
INLINE uint32_t plat_hw_ntid(void) { return __nvvm_read_ptx_sreg_ntid_x(); }
INLINE uint32_t plat_hw_team(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
INLINE uint32_t plat_hw_teams(void) { return __nvvm_read_ptx_sreg_nctaid_x(); }

/* bar.sync 0: all threads of the block, their warps converged. */
INLINE void plat_hw_barrier(void) { __syncthreads(); }
/* The same for threads that may be apart from their warp. */
INLINE void plat_hw_barrier_apart(void) { __nvvm_barrier_sync(0); }
INLINE void plat_hw_barrier_some(uint32_t id, uint32_t n)
{
    __nvvm_barrier_sync_cnt(id, n);
}
INLINE void plat_warp_sync(uint32_t mask) { __nvvm_bar_warp_sync(mask); }
INLINE uint32_t plat_active_mask(void) { return __nvvm_activemask(); }
/* Lanes that certainly come to the same warp-wide operation next. */
INLINE uint32_t plat_together(void) { return __nvvm_activemask(); }

INLINE int32_t plat_shuffle_down(uint32_t mask, int32_t value, uint32_t delta,
                                 uint32_t width)
{
    uint32_t clamp = (PLAT_WARP - width) << 8 | 0x1f;
    return __nvvm_shfl_sync_down_i32(mask, value, delta, clamp);
}
INLINE int64_t plat_shuffle_down_64(uint32_t mask, int64_t value,
                                    uint32_t delta, uint32_t width)
{
    int32_t low = plat_shuffle_down(mask, (int32_t)value, delta, width);
    int32_t high = plat_shuffle_down(mask, (int32_t)(value >> 32), delta, width);
    return (int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
INLINE int32_t plat_shuffle_from(uint32_t mask, int32_t value, uint32_t lane)
{
    return __nvvm_shfl_sync_idx_i32(mask, value, lane, 0x1f);
}
INLINE uint32_t plat_ballot(uint32_t mask, bool predicate)
{
    return __nvvm_vote_ballot_sync(mask, predicate);
}

/* The lanes that are here together, and the caller's rank among them; then
 * what the first of them has, for all. */
INLINE void plat_gather(uint32_t *lanes, uint32_t *rank)
{
    *lanes = plat_together();
    *rank = (uint32_t)__builtin_popcount(
        *lanes & (uint32_t)__nvvm_read_ptx_sreg_lanemask_lt());
}
INLINE uint32_t plat_share(uint32_t lanes, uint32_t value)
{
    return (uint32_t)plat_shuffle_from(lanes, (int32_t)value,
                                       (uint32_t)__builtin_ctz(lanes));
}
INLINE uint64_t plat_share64(uint32_t lanes, uint64_t value)
{
    uint32_t high = plat_share(lanes, (uint32_t)(value >> 32));
    return (uint64_t)high << 32 | plat_share(lanes, (uint32_t)value);
}

INLINE void plat_fence_team(void) { __nvvm_membar_cta(); }
INLINE void plat_fence_device(void) { __nvvm_membar_gl(); }
INLINE void plat_fence_system(void) { __nvvm_membar_sys(); }
INLINE void plat_yield(void) {}
/* The mark of a lock's holder, `thread` being its number in the launch. A kernel that fails
 * is the last in its context, so that no lock outlives its holder's launch, and
 * which launch has it does not matter. */
#define PLAT_NEST_BITS 16
#define PLAT_THREAD_BITS 0
INLINE uint64_t plat_lock_holder(uint64_t thread) { return thread + 1; }
INLINE uint32_t plat_lock_mark(void) { return 1; }
INLINE bool plat_lock_lost(uint32_t mark) { return false; }
INLINE uint64_t plat_nanoseconds(void)
{
    return __nvvm_read_ptx_sreg_globaltimer();
}
INLINE double plat_wtime(void) { return plat_nanoseconds() * 1e-9; }

typedef ompjit_assertion *assertion_address;
extern __attribute__((address_space(4))) const assertion_address
    ompjit_assertion_at WEAK;

int32_t vprintf(const char *format, void *args);
void __assertfail(const char *expression, const char *file, uint32_t line,
                  const char *function, size_t char_size);
INLINE int32_t plat_vprintf(const char *format, void *args)
{
    return vprintf(format, args);
}
#define plat_fail(message)                                                     \
    (vprintf("ompjit: " message "\n", 0), __builtin_trap())


/* A counted barrier counts whole warps. */
#define PLAT_COUNTS_THREADS 0
/* No access needs an address that is a multiple of more. */
#define PLAT_ALIGN OMPJIT__CLANGS_ALIGN

/* A generic kernel's main thread stands apart: in a warp with workers it would
 * diverge from them. */
#define PLAT_MAIN_WORKS 0
#define PLAT_LOOPED 0

/* A bare kernel's geometry, in dimension 0 to 2. */
#define PLAT_DIMENSION(name, sreg)                                             \
    INLINE uint32_t name(int32_t d)                                            \
    {                                                                          \
        return d == 0   ? __nvvm_read_ptx_sreg_##sreg##_x()                    \
               : d == 1 ? __nvvm_read_ptx_sreg_##sreg##_y()                    \
                        : __nvvm_read_ptx_sreg_##sreg##_z();                   \
    }
PLAT_DIMENSION(plat_hw_thread_id, tid)
PLAT_DIMENSION(plat_hw_block_dim, ntid)
PLAT_DIMENSION(plat_hw_block_id, ctaid)
PLAT_DIMENSION(plat_hw_grid_dim, nctaid)

extern IN_SHARED char ompjit_dynamic_shared[] __attribute__((aligned(16)));
INLINE void *plat_dynamic_shared(void) { return (char *)ompjit_dynamic_shared; }

INLINE void plat_tell(char *to, size_t size, const char *text)
{
    size_t n = 0;
    for (; text && text[n] && n < size - 1; n++)
        to[n] = text[n];
    to[n] = 0;
}

/* Others that fail wait until the first has told: with the first to end, all
 * do. */
INLINE void plat_assert_failed(const char *expression, const char *file,
                               uint32_t line, const char *function)
{
    enum { TURNS = 1 << 16 };
    ompjit_assertion *a = ompjit_assertion_at;
    uint32_t state = ASSERTION_NONE;
    if (a && __atomic_compare_exchange_n(&a->state, &state, ASSERTION_BEGUN, 0,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        a->line = line;
        plat_tell(a->file, sizeof a->file, file);
        plat_tell(a->function, sizeof a->function, function);
        plat_tell(a->expression, sizeof a->expression, expression);
        plat_fence_system();
        __atomic_store_n(&a->state, ASSERTION_TOLD, __ATOMIC_RELAXED);
    }
    for (int i = 0; a && i < TURNS; i++)
        if (__atomic_load_n(&a->state, __ATOMIC_RELAXED) == ASSERTION_TOLD)
            break;
    plat_fence_system();
    __assertfail(expression, file, line, function, 1);
}

#else

#include "host_abi.h"

INLINE uint32_t plat_hw_tid(void) { return ompjit_host_self()->tid; }
INLINE uint32_t plat_hw_ntid(void) { return ompjit_host_self()->ntid; }
INLINE uint32_t plat_hw_team(void) { return ompjit_host_self()->ctaid; }
INLINE uint32_t plat_hw_teams(void) { return ompjit_host_self()->nctaid; }

INLINE void plat_hw_barrier(void) { ompjit_host_barrier(0, 0); }
INLINE void plat_hw_barrier_apart(void) { ompjit_host_barrier(0, 0); }
INLINE void plat_hw_barrier_some(uint32_t id, uint32_t n)
{
    ompjit_host_barrier(id, n);
}
INLINE void plat_warp_sync(uint32_t mask) { ompjit_host_warp_sync(mask); }

/* The threads of a warp do not run in lockstep, so a thread can only be sure of
 * itself: code that asks who is with it gets its own lane. */
INLINE uint32_t plat_together(void)
{
    return 1u << (ompjit_host_self()->tid & (PLAT_WARP - 1));
}
INLINE uint32_t plat_active_mask(void) { return plat_together(); }

INLINE int64_t plat_shuffle_down_64(uint32_t mask, int64_t value,
                                    uint32_t delta, uint32_t width)
{
    uint32_t lane = ompjit_host_self()->tid & (PLAT_WARP - 1);
    uint32_t from = lane + delta;
    bool inside = (lane & (width - 1)) + delta < width;
    return (int64_t)ompjit_host_shuffle(mask, (uint64_t)value,
                                        inside ? from : lane);
}
INLINE int32_t plat_shuffle_down(uint32_t mask, int32_t value, uint32_t delta,
                                 uint32_t width)
{
    return (int32_t)plat_shuffle_down_64(mask, value, delta, width);
}
INLINE int32_t plat_shuffle_from(uint32_t mask, int32_t value, uint32_t lane)
{
    return (int32_t)ompjit_host_shuffle(mask, (uint32_t)value, lane);
}
uint32_t plat_ballot(uint32_t mask, bool predicate);

INLINE void plat_gather(uint32_t *lanes, uint32_t *rank)
{
    *lanes = 1;
    *rank = 0;
}
INLINE uint32_t plat_share(uint32_t lanes, uint32_t value) { return value; }
INLINE uint64_t plat_share64(uint32_t lanes, uint64_t value) { return value; }

INLINE void plat_fence_team(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void plat_fence_device(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void plat_fence_system(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void plat_yield(void) { ompjit_host_yield(); }
#define PLAT_NEST_BITS OMPJIT_HOST_LOCK_NEST_BITS
#define PLAT_THREAD_BITS OMPJIT_HOST_LOCK_THREAD_BITS
INLINE uint64_t plat_lock_holder(uint64_t thread)
{
    return ompjit_host_lock_holder();
}
INLINE uint32_t plat_lock_mark(void)
{
    return (uint32_t)(ompjit_host_lock_holder() >> PLAT_THREAD_BITS);
}
INLINE bool plat_lock_lost(uint32_t mark)
{
    return ompjit_host_lock_lost(mark);
}
INLINE uint64_t plat_nanoseconds(void) { return ompjit_host_clock(); }
INLINE double plat_wtime(void) { return ompjit_host_wtime(); }
INLINE int32_t plat_vprintf(const char *format, void *args)
{
    return ompjit_host_vprintf(format, args);
}
#define plat_fail(message) ompjit_host_trap(message)
#define PLAT_COUNTS_THREADS 1
#define PLAT_ALIGN OMPJIT__WIDEST_ALIGN
/* The main thread is the first of its own parallel regions. */
#define PLAT_MAIN_WORKS 1
#define PLAT_LOOPED (ompjit_fold_looped != 0)

INLINE uint32_t plat_block_dim(int32_t d);
INLINE uint32_t plat_grid_dim(int32_t d);
INLINE uint32_t plat_hw_block_dim(int32_t d)
{
    return ompjit_host_self()->ntid3[d];
}
INLINE uint32_t plat_hw_grid_dim(int32_t d)
{
    return ompjit_host_self()->nctaid3[d];
}
/* Dimension d of the n-th place in a box. */
INLINE uint32_t plat_split(uint32_t n, uint32_t x, uint32_t y, uint32_t z,
                           int32_t d)
{
    if (y == 1 && z == 1)
        return d == 0 ? n : 0;
    return d == 0 ? n % x : d == 1 ? n / x % y : n / x / y;
}
INLINE uint32_t plat_hw_thread_id(int32_t d)
{
    return plat_split(ompjit_host_self()->tid, plat_block_dim(0),
                      plat_block_dim(1), plat_block_dim(2), d);
}
INLINE uint32_t plat_hw_block_id(int32_t d)
{
    return plat_split(ompjit_host_self()->ctaid, plat_grid_dim(0),
                      plat_grid_dim(1), plat_grid_dim(2), d);
}

INLINE void *plat_dynamic_shared(void) { return ompjit_host_self()->dynamic; }

INLINE void plat_assert_failed(const char *expression, const char *file,
                               uint32_t line, const char *function)
{
    ompjit_host_assert_failed(expression, file, line, function);
}

#endif

/* n in all, y and z in those dimensions. */
INLINE uint32_t plat_folded(uint32_t n, uint32_t y, uint32_t z, int32_t d)
{
    return d == 0 ? n / (y * z) : d == 1 ? y : z;
}
INLINE uint32_t plat_block_dim(int32_t d)
{
    return ompjit_fold_threads
               ? plat_folded(ompjit_fold_threads, ompjit_fold_threads_y,
                             ompjit_fold_threads_z, d)
               : plat_hw_block_dim(d);
}
INLINE uint32_t plat_grid_dim(int32_t d)
{
    return ompjit_fold_teams
               ? plat_folded(ompjit_fold_teams, ompjit_fold_teams_y,
                             ompjit_fold_teams_z, d)
               : plat_hw_grid_dim(d);
}
/* Is the team known to be of one thread? A form that has loops over its threads
 * is for several. */
INLINE bool is_alone(void)
{
    return !PLAT_LOOPED && ompjit_fold_threads == 1;
}
INLINE uint32_t plat_thread_id(int32_t d)
{
    bool alone =
        !PLAT_LOOPED && ompjit_fold_threads && plat_block_dim(d) == 1;
    return alone ? 0 : plat_hw_thread_id(d);
}
INLINE uint32_t plat_block_id(int32_t d)
{
    bool alone = ompjit_fold_teams && plat_grid_dim(d) == 1;
    return alone ? 0 : plat_hw_block_id(d);
}

INLINE uint32_t plat_ntid(void)
{
    return ompjit_fold_threads ? ompjit_fold_threads : plat_hw_ntid();
}
INLINE uint32_t plat_tid(void)
{
    return is_alone() ? 0 : plat_hw_tid();
}
INLINE uint32_t plat_teams(void)
{
    return ompjit_fold_teams ? ompjit_fold_teams : plat_hw_teams();
}
INLINE uint32_t plat_team(void)
{
    uint32_t team = ompjit_fold_teams == 1 ? 0 : plat_hw_team();
    uint32_t teams = plat_teams();
    /* With this, the length of a loop is constant where it is for all teams. */
    __builtin_assume(team < teams);
    return team;
}
INLINE uint32_t plat_lane(void) { return plat_tid() & (PLAT_WARP - 1); }

INLINE void plat_barrier(void)
{
    if (!is_alone())
        plat_hw_barrier();
}
INLINE void plat_barrier_apart(void)
{
    if (!is_alone())
        plat_hw_barrier_apart();
}

#endif
