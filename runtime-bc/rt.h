/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime's own types and the state of a team. The state is a few
 * words of shared memory, each a variable of its own, so that those a kernel
 * does not read disappear with their stores.
 *
 * Each call has to know whether the thread is in a parallel region, and alone or
 * in a team. That is also carried by the "global thread number" that clang
 * passes from call to call: ours has CONTEXT_TAG set and says the context, so
 * that after inlining no memory is read at all. Any other number (what
 * openmp-opt's state machine passes, or another front end) means: read the
 * state.
 */
#ifndef OMPJIT_RT_H
#define OMPJIT_RT_H

#include "plat.h"

typedef struct ident ident;

/* KernelEnvironmentTy: abi/layouts.md */
typedef struct kernel_environment {
    uint8_t use_generic_state_machine;
    uint8_t may_use_nested_parallelism;
    uint8_t exec_mode;
    int32_t min_threads, max_threads, min_teams, max_teams;
    int32_t reduction_data_size, reduction_buffer_length;
    ident *loc;
    void *dynamic_environment;
} kernel_environment;

/* KernelLaunchEnvironmentTy. The buffer has a record for each team. */
typedef struct launch_environment {
    uint32_t teams_done;
    uint32_t unused;
    void *reduction_buffer;
} launch_environment;

enum { EXEC_GENERIC = 1, EXEC_SPMD = 2 };

/* ------------------------------------------------------------- the team */

extern uint32_t IN_SHARED ompjit_mode;  /* EXEC_GENERIC or EXEC_SPMD          */
extern uint32_t IN_SHARED ompjit_level; /* 1 while a parallel region runs     */
extern uint32_t IN_SHARED ompjit_size;  /* its threads; 0: all there are      */
extern uint32_t IN_SHARED ompjit_nthreads_var; /* 0: as many as there are     */
extern uint32_t IN_SHARED ompjit_sched_var;    /* omp_sched_t                 */
extern int32_t IN_SHARED ompjit_chunk_var;
extern uint32_t IN_SHARED ompjit_levels_var;     /* max-active-levels, 0 or 1 */
extern uint64_t IN_SHARED ompjit_allocator_var;  /* omp_allocator_handle_t    */
/* The launch_environment as a number: LLVM keeps the stores of a pointer that
 * nobody reads. */
extern uintptr_t IN_SHARED ompjit_launch;
extern void *IN_SHARED ompjit_work; /* generic: what workers run, or NULL    */
/* generic: the threads of a region that __kmpc_kernel_prepare_parallel began */
extern uint32_t IN_SHARED ompjit_prepared;

/* A thread's own state, which only nested regions and settings changed inside a
 * region need. Nobody needs it outside of regions: there, in an SPMD
 * kernel, a thread may go on before another has begun. */
typedef struct thread_state {
    uint32_t nested;       /* regions inside the team's, all of one thread  */
    uint32_t own_icv;      /* those below replace the team's                */
    uint32_t nthreads_var;
    uint32_t sched_var;
    int32_t chunk_var;
    uint32_t levels_var;
    uint64_t allocator_var;
    struct serialized *serialized; /* the innermost such region of its own */
} thread_state;

/* One for each thread of the block, allocated when the first needs it. */
extern thread_state *IN_SHARED ompjit_states;

/* Likewise, the innermost dispatched loop that each thread runs alone, and how
 * far it is in the team's. */
extern struct solo_loop **IN_SHARED ompjit_solo_loops;
typedef struct loop_cursor loop_cursor;
extern loop_cursor *IN_SHARED ompjit_cursors;

/* The caller's, NULL if nobody has needed any; or allocated. */
INLINE thread_state *thread_state_if_any(void)
{
    thread_state *all = ompjit_fold_flat ? NULL : ompjit_states;
    return all ? all + plat_tid() : NULL;
}
thread_state *ompjit_thread_state(void);

/* The team's settings to s, and back from it. */
void ompjit_save_settings(thread_state *s);
void ompjit_restore_settings(const thread_state *s);

/* The caller's element of an array for all threads, *array, which is allocated
 * and cleared for whoever comes first; nobody is told of a failure. */
void *ompjit_own_element(void *IN_SHARED *array, size_t size);

int8_t __kmpc_is_spmd_exec_mode(void);
INLINE bool is_spmd(void)
{
    return ompjit_fold_spmd || __kmpc_is_spmd_exec_mode();
}

/* The thread that runs a generic kernel's sequential part. */
INLINE uint32_t main_tid(void)
{
    return PLAT_MAIN_WORKS ? 0 : (plat_ntid() - 1) & ~(PLAT_WARP - 1);
}

/* Threads that a parallel region can have. In generic mode the last warp is
 * the main thread's where that does not work with the others, and a block of
 * one warp has no other. */
INLINE uint32_t max_threads(void)
{
    uint32_t n = plat_ntid();
    if (PLAT_MAIN_WORKS || is_spmd())
        return n;
    return n > PLAT_WARP ? n - PLAT_WARP : 1;
}
/* Those of the team's region: a kernel without num_threads and the like never
 * stores a size, so that this is what the hardware says. */
INLINE uint32_t team_threads(void)
{
    return ompjit_size ? ompjit_size : max_threads();
}

/* ------------------------------------------------------------ contexts */

enum {
    CONTEXT_TAG = 1 << 30,
    CONTEXT_KIND = 3 << 16,
    CONTEXT_SEQUENTIAL = 0 << 16, /* outside of parallel regions           */
    CONTEXT_ALL = 1 << 16,        /* in a region of all threads there are  */
    CONTEXT_TEAM = 2 << 16,       /* in a region of ompjit_size threads    */
    CONTEXT_ALONE = 3 << 16,      /* in a region of one thread             */
    CONTEXT_LEVEL = 0xffff        /* ALONE: the nesting level              */
};

INLINE uint32_t context_of_state(void)
{
    if (!ompjit_level)
        return CONTEXT_TAG | CONTEXT_SEQUENTIAL;
    if (PLAT_LOOPED) /* of one thread, too, whose number is 0 */
        return CONTEXT_TAG | (ompjit_size ? CONTEXT_TEAM : CONTEXT_ALL);
    thread_state *s = thread_state_if_any();
    if (s && s->nested)
        return CONTEXT_TAG | CONTEXT_ALONE | (1 + s->nested);
    uint32_t n = ompjit_size;
    if (n == 0)
        return CONTEXT_TAG | CONTEXT_ALL;
    return CONTEXT_TAG | (n == 1 ? CONTEXT_ALONE | 1 : CONTEXT_TEAM);
}

INLINE bool has_context(int32_t gtid)
{
    return !ompjit_use_serialized && (gtid & CONTEXT_TAG);
}
INLINE uint32_t context_of(int32_t gtid)
{
    return has_context(gtid) ? (uint32_t)gtid : context_of_state();
}
INLINE uint32_t context_kind(uint32_t c) { return c & CONTEXT_KIND; }

INLINE uint32_t context_level(uint32_t c)
{
    if (context_kind(c) == CONTEXT_ALONE)
        return c & CONTEXT_LEVEL;
    return context_kind(c) != CONTEXT_SEQUENTIAL;
}

/* The threads of the innermost region, and the caller's number among them. */
INLINE bool context_is_many(uint32_t c)
{
    return context_kind(c) == CONTEXT_ALL || context_kind(c) == CONTEXT_TEAM;
}
INLINE uint32_t context_threads(uint32_t c)
{
    if (context_kind(c) == CONTEXT_ALL)
        return max_threads();
    return context_kind(c) == CONTEXT_TEAM ? ompjit_size : 1;
}
INLINE uint32_t context_thread(uint32_t c)
{
    return context_is_many(c) ? plat_tid() : 0;
}

/* The threads of the region the caller is in, without a context. */
INLINE uint32_t threads_here(void)
{
    thread_state *s = thread_state_if_any();
    return s && s->nested ? 1 : team_threads();
}

/* Waits for the first n threads, or all that a region can have. */
void ompjit_team_barrier(uint32_t n);
INLINE void all_barrier(void)
{
    if (is_spmd())
        plat_barrier();
    else if (max_threads() > 1)
        ompjit_team_barrier(max_threads());
}

/* Waits for the threads of the context. Outside of regions an SPMD kernel's
 * threads do everything together, and wait for each other. */
void ompjit_barrier_init(void);
/* Arguments of a region for which the list lies in team-shared memory. */
enum { SHARED_ARGUMENTS = 32 };
void ompjit_share_init(bool spmd);
void ompjit_arguments_deinit(void);
void ompjit_pool_init(void);
void ompjit_task_init(void);
void ompjit_teams_init(void);
void ompjit_prepared_init(void);
void ompjit_run_work(void *work);

/* Tasks that are not over when they return: detach.c. A region's threads wait
 * for them at barriers and at its end; `region` is what a thread keeps that has
 * some outside of it. */
typedef struct detached_region {
    uint32_t region, current;
} detached_region;
void ompjit_detach_init(void);
void ompjit_detach_deinit(void);
void ompjit_detach_wait_region(void);
void ompjit_detach_region_begin(detached_region *outer);
void ompjit_detach_region_end(const detached_region *outer);
INLINE void wait_for_tasks(void)
{
    if (ompjit_use_events)
        ompjit_detach_wait_region();
}
INLINE void begin_tasks(detached_region *outer)
{
    if (ompjit_use_events)
        ompjit_detach_region_begin(outer);
}
INLINE void end_tasks(const detached_region *outer)
{
    if (ompjit_use_events)
        ompjit_detach_region_end(outer);
}

/* Cancellation: cancel.c. Only called where ompjit_use_cancel. */
void ompjit_cancel_init(void);
/* A barrier of a region's n threads; true: they are to leave the region. The
 * same without a barrier, and the region's end. */
bool ompjit_counted_barrier(uint32_t n);
bool ompjit_cancelled(void);
void ompjit_cancel_end(uint32_t n);
/* A taskgroup of the caller's; true: it runs none of its tasks any more. */
void ompjit_groups_init(void);
void ompjit_groups_deinit(void);
void ompjit_group_begin(void);
void ompjit_group_end(void);
bool ompjit_group_cancelled(void);
INLINE void end_cancellable(uint32_t n)
{
    if (ompjit_use_cancel)
        ompjit_cancel_end(n);
}

/* True: the region is cancelled, and some of its threads may not be here. */
INLINE bool context_barrier(uint32_t c)
{
    uint32_t kind = context_kind(c);
    if (ompjit_use_cancel && context_is_many(c))
        return ompjit_counted_barrier(context_threads(c));
    if (kind == CONTEXT_ALL || (kind == CONTEXT_SEQUENTIAL && is_spmd()))
        all_barrier();
    else if (kind == CONTEXT_TEAM)
        ompjit_team_barrier(ompjit_size);
    return false;
}

/* A generic kernel's main thread, in its sequential part. */
INLINE bool is_sequential(void)
{
    if (is_spmd())
        return false;
    return PLAT_MAIN_WORKS ? !ompjit_level : plat_tid() == main_tid();
}

/* The same from the state, of which fewer words are asked than it takes to
 * make a context: outside of regions the size is 0, and a generic kernel's
 * main thread has nobody to wait for there. */
INLINE bool barrier_here(void)
{
    thread_state *s = thread_state_if_any();
    if (ompjit_use_cancel)
        return context_barrier(context_of_state());
    if ((s && s->nested) || is_sequential())
        return false;
    uint32_t n = ompjit_size;
    if (n == 0)
        all_barrier();
    else if (n > 1)
        ompjit_team_barrier(n);
    return false;
}

/* Lanes of the caller's warp among the first n threads of the block. */
INLINE uint32_t lanes_below(uint32_t n)
{
    uint32_t first = plat_tid() & ~(PLAT_WARP - 1);
    return n - first >= PLAT_WARP ? ~0u : (1u << (n - first)) - 1;
}

/* ------------------------------------------- what other files also call */

int32_t __kmpc_global_thread_num(ident *loc);
void __kmpc_barrier(ident *loc, int32_t gtid);
void __kmpc_barrier_simple_spmd(ident *loc, int32_t gtid);
void __kmpc_barrier_simple_generic(ident *loc, int32_t gtid);
bool __kmpc_kernel_parallel(void **work);
void __kmpc_kernel_end_parallel(void);

/* omp_sched_t without the monotonic bit */
enum { SCHED_STATIC = 1, SCHED_DYNAMIC, SCHED_GUIDED, SCHED_AUTO };

enum { ALLOCATOR_DEFAULT = 1 }; /* omp_default_mem_alloc */
uint64_t omp_get_default_allocator(void);
void omp_set_default_allocator(uint64_t handle);

#endif
