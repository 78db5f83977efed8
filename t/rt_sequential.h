/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of omp.h that the kernels need when they are compiled without
 * OpenMP.
 */
#include <stdlib.h>

typedef uint64_t omp_lock_t, omp_nest_lock_t;
typedef int omp_sched_t;
enum { omp_default_mem_alloc };

static int sched_kind, sched_chunk;
static inline void omp_set_schedule(omp_sched_t kind, int chunk)
{
    sched_kind = kind;
    sched_chunk = chunk;
}
static inline void omp_get_schedule(omp_sched_t *kind, int *chunk)
{
    *kind = sched_kind;
    *chunk = sched_chunk;
}

/* Only named where WRONG() does not evaluate them. */
int omp_get_level(void), omp_get_ancestor_thread_num(int), omp_get_team_size(int);
int omp_get_max_threads(void), omp_get_thread_limit(void), omp_get_dynamic(void);
int omp_get_num_procs(void), omp_get_num_teams(void), omp_in_parallel(void);
int omp_is_initial_device(void), omp_test_nest_lock(omp_nest_lock_t *lock);
double omp_get_wtime(void), omp_get_wtick(void);

static inline int omp_get_team_num(void) { return 0; }
static inline int omp_get_thread_num(void) { return 0; }
static inline int omp_get_num_threads(void) { return 1; }
static inline void omp_set_num_threads(int n) {}
static inline void omp_set_lock(omp_lock_t *lock) {}
static inline void omp_unset_lock(omp_lock_t *lock) {}
static inline int omp_test_lock(omp_lock_t *lock) { return 1; }
static inline void omp_set_nest_lock(omp_nest_lock_t *lock) {}
static inline void omp_unset_nest_lock(omp_nest_lock_t *lock) {}
static inline void *omp_alloc(size_t size, int allocator)
{
    return malloc(size);
}
static inline void omp_free(void *p, int allocator) { free(p); }
