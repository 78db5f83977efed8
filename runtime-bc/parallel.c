/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Parallel regions. A kernel's threads form one team of the first region
 * (level 1); regions inside it run in the thread that meets them.
 */
#include "microtask.h"
#include "rt.h"

EXPORT ALWAYS_INLINE int32_t __kmpc_global_thread_num(ident *loc)
{
    return (int32_t)context_of_state();
}

EXPORT int16_t __kmpc_parallel_level(ident *loc, int32_t gtid)
{
    return (int16_t)context_level(context_of(gtid));
}

/* The clause counts before nthreads-var; both only where they ask for less
 * than there is. */
INLINE uint32_t wanted_threads(int32_t clause)
{
    uint32_t most = max_threads();
    uint32_t set = ompjit_fold_flat ? 0 : ompjit_nthreads_var;
    uint32_t n = clause > 0 ? (uint32_t)clause : set;
    if (!ompjit_fold_flat && !ompjit_levels_var)
        return 1;
    return n && n < most ? n : most;
}

/* Settings made inside a region end with it. */
INLINE void drop_own_icv(void)
{
    thread_state *s = thread_state_if_any();
    if (s)
        s->own_icv = 0;
}

/* The end of a thread's part that has nothing to do outside of regions. */
INLINE void end_part(void)
{
    wait_for_tasks();
    drop_own_icv();
}

/* A region inside a region. Its caller's settings, too, come back at the end;
 * *saved keeps them. */
static NOINLINE void enter_nested(thread_state *saved)
{
    thread_state *s = ompjit_thread_state();
    *saved = *s;
    s->nested++;
}
static NOINLINE void leave_nested(const thread_state *saved)
{
    *ompjit_thread_state() = *saved;
}

INLINE void run_nested(uint32_t context, void *fn, void **args, int64_t nargs)
{
    thread_state saved;
    detached_region outer;
    begin_tasks(&outer);
    enter_nested(&saved);
    call_microtask(CONTEXT_TAG | CONTEXT_ALONE | (context_level(context) + 1),
                   fn, args, nargs);
    end_tasks(&outer);
    leave_nested(&saved);
}

/* All threads of the block come here. Each stores the team's state, the same
 * values, and reads only what it stored; the barrier before keeps them from
 * threads that are still before the region, the one at its end from those
 * that are still in it. */
INLINE void run_spmd(uint32_t n, bool all, void *fn, void **args, int64_t nargs)
{
    uint32_t inner = CONTEXT_TAG | CONTEXT_ALL;
    if (!all)
        inner = CONTEXT_TAG |
                (n == 1 ? CONTEXT_ALONE | 1 : (uint32_t)CONTEXT_TEAM);
    __kmpc_barrier_simple_spmd(NULL, 0);
    ompjit_level = 1;
    if (!all)
        ompjit_size = n;
    if (all || plat_tid() < n) {
        call_microtask(inner, fn, args, nargs);
        end_part();
        end_cancellable(n);
    }
    __kmpc_barrier_simple_spmd(NULL, 0);
    ompjit_level = 0;
    if (!all)
        ompjit_size = 0;
}

/* The main thread of a generic kernel alone. On a GPU, where it has a warp of
 * its own, it is not the hardware's thread 0. */
INLINE void run_alone(bool all, void *fn, void **args, int64_t nargs)
{
    detached_region outer;
    begin_tasks(&outer);
    ompjit_level = 1;
    if (!all)
        ompjit_size = 1;
    call_microtask(CONTEXT_TAG | CONTEXT_ALONE | 1, fn, args, nargs);
    end_tasks(&outer);
    drop_own_icv();
    ompjit_level = 0;
    if (!all)
        ompjit_size = 0;
}

void __kmpc_begin_sharing_variables(void ***args, size_t n);
void __kmpc_end_sharing_variables(void);

/* Unrolled, arguments of a constant number need no place on the stack. A list in
 * device memory goes one by one: all of it would be in registers. */
INLINE void share_arguments(void **shared, void **args, int64_t nargs)
{
    if (nargs <= SHARED_ARGUMENTS) {
#pragma clang loop unroll(full)
        for (int64_t i = 0; i < nargs; i++)
            shared[i] = args[i];
        return;
    }
#pragma clang loop unroll(disable) vectorize(disable)
    for (int64_t i = 0; i < nargs; i++)
        shared[i] = args[i];
}

/* The main thread wakes the workers, is one of them where it works, and waits
 * for the others. */
INLINE void run_workers(uint32_t n, bool all, void *fn, void *wrapper,
                        void **args, int64_t nargs)
{
    void **shared;
    __kmpc_begin_sharing_variables(&shared, (size_t)nargs);
    share_arguments(shared, args, nargs);
    if (!all)
        ompjit_size = n;
    ompjit_work = wrapper;
    ompjit_level = 1;
    __kmpc_barrier_simple_generic(NULL, 0);
    if (PLAT_MAIN_WORKS) {
        detached_region outer;
        begin_tasks(&outer);
        call_microtask(CONTEXT_TAG | (all ? CONTEXT_ALL : CONTEXT_TEAM), fn,
                       args, nargs);
        end_tasks(&outer);
        drop_own_icv();
        end_cancellable(n);
    }
    __kmpc_barrier_simple_generic(NULL, 0);
    ompjit_level = 0;
    if (!all)
        ompjit_size = 0;
    __kmpc_end_sharing_variables();
}

/* The pipeline has put a function in the region's place that runs all n threads
 * of it (libompjit/passes/host/team/form.cc). */
typedef void (*looped_region)(void **args, uint32_t n);

INLINE void run_looped(uint32_t n, void *fn, void **args)
{
    ompjit_level = 1;
    ompjit_size = n;
    ((looped_region)fn)(args, n);
    ompjit_level = 0;
    ompjit_size = 0;
}

/* `strict` asks for exactly `num_threads`. Any number up to the block's is
 * given exactly; one above it cannot be, and is an error only when strict. */
EXPORT ALWAYS_INLINE void
__kmpc_parallel_60(ident *loc, int32_t gtid, int32_t condition,
                   int32_t num_threads, int32_t proc_bind, void *fn,
                   void *wrapper, void **args, int64_t nargs, int32_t strict)
{
    uint32_t context = context_of(gtid);
    if (!ompjit_fold_flat && context_kind(context) != CONTEXT_SEQUENTIAL) {
        run_nested(context, fn, args, nargs);
        return;
    }
    uint32_t n = condition ? wanted_threads(num_threads) : 1;
    if (strict && condition && num_threads > 0 && n < (uint32_t)num_threads)
        plat_fail("num_threads(strict) asks for more threads than the team's");
    bool all = n == max_threads();
    if (is_spmd())
        run_spmd(n, all, fn, args, nargs);
    else if (PLAT_LOOPED)
        run_looped(n, fn, args);
    else if (n > 1 && wrapper)
        run_workers(n, all, fn, wrapper, args, nargs);
    else
        run_alone(PLAT_MAIN_WORKS && all && wrapper, fn, args, nargs);
}

/* The call of clang 15 to 21. */
EXPORT ALWAYS_INLINE void
__kmpc_parallel_51(ident *loc, int32_t gtid, int32_t condition,
                   int32_t num_threads, int32_t proc_bind, void *fn,
                   void *wrapper, void **args, int64_t nargs)
{
    __kmpc_parallel_60(loc, gtid, condition, num_threads, proc_bind, fn,
                       wrapper, args, nargs, 0);
}

/* The call that LLVM 22's optimizer has for a kernel of one region in SPMD
 * mode. */
EXPORT ALWAYS_INLINE void __kmpc_parallel_spmd(ident *loc, int32_t num_threads,
                                               void *fn, void **args,
                                               int64_t nargs)
{
    __kmpc_parallel_60(loc, (int32_t)context_of_state(), 1, num_threads, 0, fn,
                       NULL, args, nargs, 0);
}

/* A region of the thread that begins it, in the form of host code. */
typedef struct serialized {
    bool outside; /* of regions, in a generic kernel's main thread */
    detached_region tasks;
    thread_state before;
} serialized;

EXPORT void __kmpc_serialized_parallel(ident *loc, int32_t gtid)
{
    thread_state *s = ompjit_thread_state();
    serialized *r = malloc(sizeof *r);
    if (!r)
        plat_fail("out of device memory for a region of one thread");
    *r = (serialized){.outside = !ompjit_level && !is_spmd(),
                      .before = *s};
    begin_tasks(&r->tasks);
    s->serialized = r;
    if (r->outside) {
        ompjit_level = 1;
        ompjit_size = 1;
    } else {
        s->nested++;
    }
}

EXPORT void __kmpc_end_serialized_parallel(ident *loc, int32_t gtid)
{
    thread_state *s = ompjit_thread_state();
    serialized *r = s->serialized;
    if (!r)
        return; /* none was begun */
    end_tasks(&r->tasks);
    if (r->outside) {
        ompjit_level = 0;
        ompjit_size = 0;
    }
    *s = r->before;
    free(r);
}

/* The main thread's half of a region before clang 13: what the threads run
 * between the main thread's next two barriers. The last to end the region
 * brings the main thread back to its own state. Without workers it runs here,
 * and where the main thread works, in its barrier. */
SHARED uint32_t ompjit_prepared;
static SHARED uint32_t ended;

EXPORT void ompjit_prepared_init(void)
{
    ompjit_prepared = 0;
}

EXPORT void __kmpc_kernel_prepare_parallel(void *work)
{
    ompjit_level = 1;
    if (!PLAT_MAIN_WORKS && max_threads() == 1) {
        ompjit_size = 1;
        ((void (*)(int16_t, int32_t))work)(0, CONTEXT_TAG | CONTEXT_ALONE | 1);
        ompjit_level = 0;
        ompjit_size = 0;
        return;
    }
    uint32_t n = wanted_threads(0);
    ompjit_prepared = n;
    ended = 0;
    if (n < max_threads())
        ompjit_size = n;
    ompjit_work = work;
}

static void end_prepared(void)
{
    if (__scoped_atomic_fetch_add(&ended, 1, __ATOMIC_ACQ_REL,
                                  __MEMORY_SCOPE_WRKGRP) ==
        ompjit_prepared - 1) {
        ompjit_prepared = 0;
        ompjit_level = 0;
        ompjit_size = 0;
    }
}

/* Between the main thread's two barriers, in every worker. */
EXPORT NOINLINE bool __kmpc_kernel_parallel(void **work)
{
    *work = ompjit_work;
    return *work && (!ompjit_size || plat_tid() < ompjit_size);
}

EXPORT NOINLINE void __kmpc_kernel_end_parallel(void)
{
    end_part();
    end_cancellable(team_threads());
    if (ompjit_prepared)
        end_prepared();
}

EXPORT void ompjit_run_work(void *work)
{
    uint32_t kind = ompjit_size ? CONTEXT_TEAM : CONTEXT_ALL;
    ((void (*)(int16_t, int32_t))work)(0, CONTEXT_TAG | kind);
    __kmpc_kernel_end_parallel();
}

EXPORT void __kmpc_push_num_teams(ident *loc, int32_t gtid, int32_t teams,
                                  int32_t limit)
{
}
EXPORT void __kmpc_push_proc_bind(ident *loc, int32_t gtid, int32_t bind)
{
}
