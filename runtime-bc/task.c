/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks. Every task runs at once in the thread that creates it, which the
 * specification allows; so there is nothing to wait for, no dependence left to
 * keep, and a task reduction adds to the original variable.
 */
#include "rt.h"

/* kmp_task_t, as clang lays it out; what it captured follows. */
typedef struct task task;
typedef int32_t (*task_fn)(int32_t gtid, task *t);
struct task {
    void *shareds;
    task_fn routine;
    int32_t part_id;
    task_fn destructors;
    void *priority;
};

/* Before the task. Its size is a multiple of the alignment of malloc. */
typedef struct task_header {
    uint32_t flags;
    uint32_t shareds_at;
    uint64_t size;
} task_header;

enum { TASK_DESTRUCTORS = 8 };

INLINE task_header *header_of(task *t)
{
    return (task_header *)t - 1;
}

static task *allocate(uint32_t flags, uint64_t size, uint32_t shareds_at)
{
    task_header *h = malloc(sizeof *h + size);
    if (!h)
        plat_fail("out of device memory for a task");
    *h = (task_header){flags, shareds_at, size};
    task *t = (task *)(h + 1);
    t->shareds = (char *)t + shareds_at;
    return t;
}

static void release(int32_t gtid, task *t)
{
    if (header_of(t)->flags & TASK_DESTRUCTORS)
        t->destructors(gtid, t);
    free(header_of(t));
}

EXPORT task *__kmpc_omp_task_alloc(ident *loc, int32_t gtid, int32_t flags,
                                   size_t size, size_t shareds_size,
                                   task_fn routine)
{
    uint64_t shareds_at = (size + 15) & ~15ull;
    task *t = allocate((uint32_t)flags, shareds_at + shareds_size,
                       (uint32_t)shareds_at);
    t->routine = routine;
    t->part_id = 0;
    return t;
}

EXPORT int32_t __kmpc_omp_task(ident *loc, int32_t gtid, task *t)
{
    t->routine(gtid, t);
    release(gtid, t);
    return 0;
}

EXPORT int32_t __kmpc_omp_task_with_deps(ident *loc, int32_t gtid, task *t,
                                         int32_t ndeps, void *deps,
                                         int32_t nweak, void *weak)
{
    return __kmpc_omp_task(loc, gtid, t);
}

/* An undeferred task: clang's code calls the routine in between. */
EXPORT void __kmpc_omp_task_begin_if0(ident *loc, int32_t gtid, task *t)
{
}
EXPORT void __kmpc_omp_task_complete_if0(ident *loc, int32_t gtid, task *t)
{
    release(gtid, t);
}

typedef void (*task_dup_fn)(task *to, task *from, int32_t last);

/* One task runs the whole loop. The copy function, where there is one, makes
 * the private variables of a new task and tells it that it has the last
 * iteration. Bounds that clang stored are already in the task. */
static void run_taskloop(int32_t gtid, task *t, const uint64_t *lower,
                         const uint64_t *upper, int64_t step, task_dup_fn dup)
{
    bool empty = step < 0 ? (int64_t)*lower < (int64_t)*upper
                          : (int64_t)*lower > (int64_t)*upper;
    if (!empty && dup) {
        task_header *h = header_of(t);
        task *copy = allocate(h->flags, h->size, h->shareds_at);
        __builtin_memcpy(copy, t, h->size);
        copy->shareds = (char *)copy + h->shareds_at;
        dup(copy, t, 1);
        __kmpc_omp_task(NULL, gtid, copy);
    } else if (!empty) {
        t->routine(gtid, t);
    }
    release(gtid, t);
}

EXPORT void __kmpc_taskloop(ident *loc, int32_t gtid, task *t,
                            int32_t condition, uint64_t *lower, uint64_t *upper,
                            int64_t step, int32_t nogroup, int32_t schedule,
                            uint64_t grainsize, void *dup)
{
    run_taskloop(gtid, t, lower, upper, step, (task_dup_fn)dup);
}
EXPORT void __kmpc_taskloop_5(ident *loc, int32_t gtid, task *t,
                              int32_t condition, uint64_t *lower,
                              uint64_t *upper, int64_t step, int32_t nogroup,
                              int32_t schedule, uint64_t grainsize,
                              int32_t modifier, void *dup)
{
    run_taskloop(gtid, t, lower, upper, step, (task_dup_fn)dup);
}

EXPORT void __kmpc_taskgroup(ident *loc, int32_t gtid)
{
}
EXPORT void __kmpc_end_taskgroup(ident *loc, int32_t gtid)
{
}
EXPORT int32_t __kmpc_omp_taskwait(ident *loc, int32_t gtid)
{
    return 0;
}
EXPORT int32_t __kmpc_omp_taskyield(ident *loc, int32_t gtid, int32_t end)
{
    return 0;
}
EXPORT void __kmpc_omp_wait_deps(ident *loc, int32_t gtid, int32_t ndeps,
                                 void *deps, int32_t nweak, void *weak)
{
}
EXPORT void __kmpc_omp_taskwait_deps_51(ident *loc, int32_t gtid, int32_t ndeps,
                                        void *deps, int32_t nweak, void *weak,
                                        int32_t nowait)
{
}

/* The task is over before anyone could fulfill its event. */
EXPORT void *__kmpc_task_allow_completion_event(ident *loc, int32_t gtid,
                                                task *t)
{
    return NULL;
}
EXPORT void omp_fulfill_event(uint64_t event)
{
}

/* The original variable in place of a thread's own. */
EXPORT void *__kmpc_taskred_init(int32_t gtid, int32_t n, void *data)
{
    return data;
}
EXPORT void *__kmpc_task_reduction_init(int32_t gtid, int32_t n, void *data)
{
    return data;
}
EXPORT void *__kmpc_task_reduction_get_th_data(int32_t gtid, void *group,
                                               void *data)
{
    return data;
}

EXPORT int32_t omp_in_final(void)
{
    return 1;
}
EXPORT int32_t omp_in_explicit_task(void)
{
    return 0;
}
EXPORT int32_t omp_get_max_task_priority(void)
{
    return 0;
}
