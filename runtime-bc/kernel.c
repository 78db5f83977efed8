/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Beginning and end of a kernel, and the state of a team.
 */
#include "rt.h"

const uint32_t ompjit_fold_threads = 0;
const uint32_t ompjit_fold_teams = 0;
const uint32_t ompjit_fold_flat = 0;
const uint32_t ompjit_use_serialized = 0;
const uint32_t ompjit_fold_spmd = 0;
#ifndef __NVPTX__
const uint32_t ompjit_fold_looped = 0;
#endif
const uint32_t ompjit_fold_threads_y = 0;
const uint32_t ompjit_fold_threads_z = 0;
const uint32_t ompjit_fold_teams_y = 0;
const uint32_t ompjit_fold_teams_z = 0;

uint32_t SHARED ompjit_mode;
uint32_t SHARED ompjit_level;
uint32_t SHARED ompjit_size;
uint32_t SHARED ompjit_nthreads_var;
uint32_t SHARED ompjit_sched_var;
int32_t SHARED ompjit_chunk_var;
uint32_t SHARED ompjit_levels_var;
uint64_t SHARED ompjit_allocator_var;
uintptr_t SHARED ompjit_launch;
void *SHARED ompjit_work;
thread_state *SHARED ompjit_states;
struct solo_loop **SHARED ompjit_solo_loops;

/* In an SPMD kernel every thread stores the same values and so can go on
 * without a barrier: it reads what it stored, and the first parallel region
 * has a barrier before it stores others. A setting that is changed outside of
 * regions is stored by thread 0 alone. */
INLINE void team_init(uint32_t mode, launch_environment *launch)
{
    ompjit_mode = mode;
    ompjit_level = 0;
    ompjit_size = 0;
    ompjit_nthreads_var = 0;
    ompjit_sched_var = SCHED_STATIC;
    ompjit_chunk_var = 0;
    ompjit_levels_var = 1;
    ompjit_allocator_var = ALLOCATOR_DEFAULT;
    ompjit_launch = (uintptr_t)launch;
    ompjit_work = NULL;
    ompjit_states = NULL;
    if (mode == EXEC_GENERIC || plat_tid() == 0) {
        ompjit_solo_loops = NULL;
        ompjit_cursors = NULL;
        ompjit_pool_init();
        ompjit_teams_init();
        ompjit_prepared_init();
        if (ompjit_use_events)
            ompjit_detach_init();
        if (ompjit_use_cancel)
            ompjit_groups_init();
    }
    if (ompjit_use_cancel)
        ompjit_cancel_init();
    ompjit_barrier_init();
    ompjit_share_init(mode == EXEC_SPMD);
}

INLINE void run_worker(void)
{
    for (;;) {
        void *work;
        __kmpc_barrier_simple_generic(NULL, 0);
        bool mine = __kmpc_kernel_parallel(&work);
        if (!work)
            return;
        if (mine)
            ompjit_run_work(work);
        __kmpc_barrier_simple_generic(NULL, 0);
    }
}

/* -1 to the threads that run the kernel's code. In generic mode that is one;
 * the others work until the kernel ends, and then leave it. */
EXPORT int32_t __kmpc_target_init(const kernel_environment *env,
                                  launch_environment *launch)
{
    ompjit_task_init();
    if (ompjit_fold_spmd || env->exec_mode & EXEC_SPMD) {
        team_init(EXEC_SPMD, launch);
        return -1;
    }
    if (PLAT_LOOPED || plat_tid() == main_tid()) {
        team_init(EXEC_GENERIC, launch);
        return -1;
    }
    /* A main thread's warp has no workers, and blocks of that warp alone none. */
    if (env->use_generic_state_machine && max_threads() > 1 &&
        plat_tid() < max_threads())
        run_worker();
    return (int32_t)plat_tid();
}

/* Only threads that got -1 come here. No thread can be in a region any more,
 * so none looks at what one frees. */
EXPORT void __kmpc_target_deinit(void)
{
    bool spmd = is_spmd();
    if (!spmd) {
        wait_for_tasks();
        ompjit_arguments_deinit();
    }
    if (!spmd || plat_tid() == 0) {
        if (ompjit_use_events)
            ompjit_detach_deinit();
        if (ompjit_use_cancel)
            ompjit_groups_deinit();
        if (!ompjit_fold_flat && ompjit_states)
            free(ompjit_states);
        if (ompjit_solo_loops)
            free(ompjit_solo_loops);
        if (ompjit_cursors)
            free(ompjit_cursors);
    }
    if (!spmd) {
        ompjit_work = NULL;
        if (!PLAT_LOOPED)
            __kmpc_barrier_simple_generic(NULL, 0);
    }
}

/* A kernel of a CUDA source that calls the runtime begins here, as if all threads
 * of the block were in a parallel region. Nothing tells when the last has left,
 * so what the runtime allocates for a loop it deals out is not freed. */
EXPORT void ompjit_cuda_begin(void)
{
    ompjit_task_init();
    team_init(EXEC_SPMD, NULL);
    ompjit_level = 1;
    ompjit_size = 0;
    plat_barrier();
}

/* A call of its own until openmp-opt has replaced it where it can. */
EXPORT NOINLINE int8_t __kmpc_is_spmd_exec_mode(void)
{
    return ompjit_mode == EXEC_SPMD;
}

NOINLINE EXPORT void *ompjit_own_element(void *IN_SHARED *array, size_t size)
{
    char *all = __atomic_load_n(array, __ATOMIC_ACQUIRE);
    if (!all) {
        void *none = NULL;
        all = malloc(plat_ntid() * size);
        if (!all)
            plat_fail("out of device memory for what each thread has");
        __builtin_memset(all, 0, plat_ntid() * size);
        if (!__atomic_compare_exchange_n(array, &none, (void *)all, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            free(all);
            all = none;
        }
    }
    return all + plat_tid() * size;
}

EXPORT thread_state *ompjit_thread_state(void)
{
    return ompjit_own_element((void *IN_SHARED *)&ompjit_states,
                              sizeof *ompjit_states);
}
