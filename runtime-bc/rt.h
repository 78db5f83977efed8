/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime's own types and the state of a team. The state is a few
 * words of shared memory, each a variable of its own, so that those a kernel
 * does not read disappear with their stores.
 *
 * What a thread needs to know at every call - is it in a parallel region, alone
 * or in a team - is also carried by the "global thread number" that clang
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
extern uint32_t IN_SHARED ompjit_size;  /* its threads; 0: the whole block    */
extern uint32_t IN_SHARED ompjit_nthreads_var; /* 0: as many as there are     */
extern uint32_t IN_SHARED ompjit_sched_var;    /* omp_sched_t                 */
extern int32_t IN_SHARED ompjit_chunk_var;
extern uint32_t IN_SHARED ompjit_levels_var;     /* max-active-levels, 0 or 1 */
extern uint64_t IN_SHARED ompjit_allocator_var;  /* omp_allocator_handle_t    */
extern launch_environment *IN_SHARED ompjit_launch;
extern void *IN_SHARED ompjit_work; /* generic: what workers run, or NULL    */

/* What one thread has for itself, which only nested regions, settings changed
 * inside a region and loops of a single thread need. */
typedef struct thread_state {
    uint32_t nested;       /* regions inside the team's, all of one thread  */
    uint32_t own_icv;      /* those below replace the team's                */
    uint32_t nthreads_var;
    uint32_t sched_var;
    int32_t chunk_var;
    uint32_t levels_var;
    uint64_t allocator_var;
    struct solo_loop *loop; /* the innermost dispatched loop run alone      */
} thread_state;

/* One for each thread of the block, allocated when the first needs it. */
extern thread_state *IN_SHARED ompjit_states;

/* Likewise, how far each thread is in the team's dispatched loop. */
typedef struct loop_cursor loop_cursor;
extern loop_cursor *IN_SHARED ompjit_cursors;

/* The caller's, NULL if nobody has needed any; or allocated. */
INLINE thread_state *thread_state_if_any(void)
{
    thread_state *all = ompjit_states;
    return all ? all + plat_tid() : NULL;
}
thread_state *ompjit_thread_state(void);

int8_t __kmpc_is_spmd_exec_mode(void);
INLINE bool is_spmd(void) { return __kmpc_is_spmd_exec_mode(); }

/* Threads that a parallel region can have. In generic mode the last warp is
 * the main thread's where that does not work with the others. */
INLINE uint32_t max_threads(void)
{
    uint32_t n = plat_ntid();
    if (PLAT_MAIN_WORKS || is_spmd())
        return n;
    return n > PLAT_WARP ? n - PLAT_WARP : 1;
}
/* The thread that runs a generic kernel's sequential part. */
INLINE uint32_t main_tid(void)
{
    return PLAT_MAIN_WORKS ? 0 : (plat_ntid() - 1) & ~(PLAT_WARP - 1);
}

/* ------------------------------------------------------------ contexts */

enum {
    CONTEXT_TAG = 1 << 30,
    CONTEXT_KIND = 3 << 16,
    CONTEXT_SEQUENTIAL = 0 << 16, /* outside of parallel regions           */
    CONTEXT_BLOCK = 1 << 16,      /* in a region of all threads of a block */
    CONTEXT_TEAM = 2 << 16,       /* in a region of ompjit_size threads    */
    CONTEXT_ALONE = 3 << 16,      /* in a region of one thread             */
    CONTEXT_LEVEL = 0xffff        /* ALONE: the nesting level              */
};

INLINE uint32_t context_of_state(void)
{
    if (!ompjit_level)
        return CONTEXT_TAG | CONTEXT_SEQUENTIAL;
    thread_state *s = thread_state_if_any();
    if (s && s->nested)
        return CONTEXT_TAG | CONTEXT_ALONE | (1 + s->nested);
    uint32_t n = ompjit_size;
    if (n == 0)
        return CONTEXT_TAG | CONTEXT_BLOCK;
    return CONTEXT_TAG | (n == 1 ? CONTEXT_ALONE | 1 : CONTEXT_TEAM);
}

INLINE uint32_t context_of(int32_t gtid)
{
    return gtid & CONTEXT_TAG ? (uint32_t)gtid : context_of_state();
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
    return context_kind(c) == CONTEXT_BLOCK || context_kind(c) == CONTEXT_TEAM;
}
INLINE uint32_t context_threads(uint32_t c)
{
    if (context_kind(c) == CONTEXT_BLOCK)
        return plat_ntid();
    return context_kind(c) == CONTEXT_TEAM ? ompjit_size : 1;
}
INLINE uint32_t context_thread(uint32_t c)
{
    return context_is_many(c) ? plat_tid() : 0;
}

/* Waits for the threads of the context. Outside of regions an SPMD kernel's
 * threads do everything together, and wait for each other. */
void ompjit_context_barrier(uint32_t context);
void ompjit_barrier_init(void);
void ompjit_share_init(bool spmd);
void ompjit_pool_init(void);
void ompjit_task_init(void);
void ompjit_teams_init(void);
void ompjit_prepared_init(void);
INLINE void context_barrier(uint32_t c)
{
    uint32_t kind = context_kind(c);
    if (kind == CONTEXT_BLOCK || (kind == CONTEXT_SEQUENTIAL && is_spmd()))
        plat_barrier();
    else if (kind == CONTEXT_TEAM)
        ompjit_context_barrier(c);
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
