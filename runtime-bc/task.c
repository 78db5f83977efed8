/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks. Every task runs at once in the thread that creates it, which the
 * specification allows; so there is nothing to wait for, no dependence left to
 * keep, and a task reduction adds to the original variable. Only a task with an
 * event, and what depends on one, may be over later: detach.c.
 */
#include "task.h"

enum { TASK_FINAL = 2, TASK_DESTRUCTORS = 8 };
/* The owner of the settings that a header has saved. */
enum { NOBODYS, THREADS, TEAMS };

/* The explicit task that each thread is in: its kind, and the level of the
 * region that it belongs to. A region inside it is of another level. The
 * pipeline sets ompjit_fold_task_kinds where no kernel asks. */
const uint32_t ompjit_fold_task_kinds = 0;
enum { MAX_THREADS = 1024, IN_TASK = 1, IN_FINAL = 2, KIND_BITS = 2 };
static SHARED unsigned char task_kinds[MAX_THREADS];

INLINE uint32_t own_task_kind(void)
{
    return ompjit_fold_task_kinds ? 0 : task_kinds[plat_tid()];
}
INLINE void set_task_kind(uint32_t kind)
{
    if (!ompjit_fold_task_kinds)
        task_kinds[plat_tid()] = (unsigned char)kind;
}

const uint32_t ompjit_use_untied = 0;

EXPORT void ompjit_task_init(void)
{
    set_task_kind(0);
}

static task *allocate(uint32_t flags, uint64_t size, uint32_t shareds_at)
{
    task_header *h = malloc(sizeof *h + size);
    if (!h)
        plat_fail("out of device memory for a task");
    h->flags = flags;
    h->shareds_at = shareds_at;
    h->size = size;
    h->event = NULL;
    if (ompjit_use_untied)
        h->runs = h->again = false;
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

/* IN_TASK and IN_FINAL of the innermost region's task. */
static uint32_t task_kind(void)
{
    uint32_t kind = own_task_kind();
    uint32_t level = context_level(context_of_state());
    return kind >> KIND_BITS == level ? kind : 0;
}

/* A task has the settings of its creator, and what it sets is its own; outside
 * of regions, where a team has one task at a time, those are the team's. */
static void save_settings(task_header *h)
{
    thread_state *s = thread_state_if_any();
    h->from = !ompjit_level ? TEAMS : s ? THREADS : NOBODYS;
    if (h->from == TEAMS)
        ompjit_save_settings(&h->saved);
    else if (h->from == THREADS)
        h->saved = *s;
}
static void restore_settings(const task_header *h)
{
    thread_state *s = thread_state_if_any();
    if (h->from == TEAMS)
        ompjit_restore_settings(&h->saved);
    else if (h->from == THREADS)
        *s = h->saved;
    else if (s)
        s->own_icv = 0;
}

static void enter_task(task_header *h)
{
    uint32_t kind = IN_TASK | (task_kind() & IN_FINAL);
    save_settings(h);
    h->outside = own_task_kind();
    if (h->flags & TASK_FINAL)
        kind |= IN_FINAL;
    set_task_kind(context_level(context_of_state()) << KIND_BITS | kind);
    if (ompjit_use_untied)
        h->runs = true;
    if (ompjit_use_events)
        ompjit_detach_enter(h);
}

/* Has the part that has run created its task for the next one? */
INLINE bool is_again(const task_header *h)
{
    return ompjit_use_untied && h->again;
}

/* An untied task is in parts. Each creates the task anew for the next one, and
 * returns: it goes on here. */
static void call_routine(int32_t gtid, task *t)
{
    task_header *h = header_of(t);
    do {
        if (ompjit_use_untied)
            h->again = false;
        t->routine(gtid, t);
    } while (is_again(h));
}

static void leave_task(task_header *h, uint32_t n, const dependence *list)
{
    if (ompjit_use_events)
        ompjit_detach_leave(h, n, list);
    restore_settings(h);
    set_task_kind(h->outside);
}

INLINE bool is_discarded(void)
{
    return ompjit_use_cancel && ompjit_group_cancelled();
}

static void run_task(int32_t gtid, task *t, uint32_t n, const dependence *list)
{
    if (is_discarded()) {
        release(gtid, t);
        return;
    }
    enter_task(header_of(t));
    call_routine(gtid, t);
    leave_task(header_of(t), n, list);
    release(gtid, t);
}

EXPORT void ompjit_run_task(int32_t gtid, task *t)
{
    run_task(gtid, t, 0, NULL);
}

EXPORT int32_t __kmpc_omp_task(ident *loc, int32_t gtid, task *t)
{
    task_header *h = header_of(t);
    if (ompjit_use_untied && h->runs)
        h->again = true;
    else
        run_task(gtid, t, 0, NULL);
    return 0;
}

EXPORT int32_t __kmpc_omp_task_with_deps(ident *loc, int32_t gtid, task *t,
                                         int32_t ndeps, dependence *deps,
                                         int32_t nweak, void *weak)
{
    uint32_t n = (uint32_t)ndeps;
    if (!ompjit_use_events || !ompjit_detach_defer(t, n, deps))
        run_task(gtid, t, n, deps);
    return 0;
}

/* An undeferred task: clang's code calls the routine in between, once. */
EXPORT void __kmpc_omp_task_begin_if0(ident *loc, int32_t gtid, task *t)
{
    enter_task(header_of(t));
}
EXPORT void __kmpc_omp_task_complete_if0(ident *loc, int32_t gtid, task *t)
{
    if (is_again(header_of(t)))
        call_routine(gtid, t);
    leave_task(header_of(t), 0, NULL);
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
    empty |= is_discarded();
    if (!empty && dup) {
        task_header *h = header_of(t);
        task *copy = allocate(h->flags, h->size, h->shareds_at);
        __builtin_memcpy(copy, t, h->size);
        copy->shareds = (char *)copy + h->shareds_at;
        dup(copy, t, 1);
        __kmpc_omp_task(NULL, gtid, copy);
    } else if (!empty) {
        enter_task(header_of(t));
        call_routine(gtid, t);
        leave_task(header_of(t), 0, NULL);
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
    if (ompjit_use_cancel)
        ompjit_group_begin();
    if (ompjit_use_events)
        ompjit_detach_group(1);
}
EXPORT void __kmpc_end_taskgroup(ident *loc, int32_t gtid)
{
    if (ompjit_use_events)
        ompjit_detach_group(-1);
    if (ompjit_use_cancel)
        ompjit_group_end();
}
EXPORT int32_t __kmpc_omp_taskwait(ident *loc, int32_t gtid)
{
    if (ompjit_use_events)
        ompjit_detach_wait_children();
    return 0;
}
EXPORT int32_t __kmpc_omp_taskyield(ident *loc, int32_t gtid, int32_t end)
{
    if (ompjit_use_events)
        ompjit_detach_yield();
    return 0;
}
EXPORT void __kmpc_omp_wait_deps(ident *loc, int32_t gtid, int32_t ndeps,
                                 dependence *deps, int32_t nweak, void *weak)
{
    if (ompjit_use_events)
        ompjit_detach_wait_for((uint32_t)ndeps, deps);
}
EXPORT void __kmpc_omp_taskwait_deps_51(ident *loc, int32_t gtid, int32_t ndeps,
                                        dependence *deps, int32_t nweak,
                                        void *weak, int32_t nowait)
{
    if (ompjit_use_events && !nowait)
        ompjit_detach_wait_for((uint32_t)ndeps, deps);
}

/* A hint where the task should run; it runs here. */
EXPORT int32_t __kmpc_omp_reg_task_with_affinity(ident *loc, int32_t gtid,
                                                 task *t, int32_t n, void *list)
{
    return 0;
}
/* A target region in a target region runs in the thread that meets it. */
EXPORT task *__kmpc_omp_target_task_alloc(ident *loc, int32_t gtid,
                                          int32_t flags, size_t size,
                                          size_t shareds_size, task_fn routine,
                                          int64_t device)
{
    return __kmpc_omp_task_alloc(loc, gtid, flags, size, shareds_size, routine);
}
EXPORT void __kmpc_proxy_task_completed_ooo(task *t)
{
}

/* Reductions: the original variable in place of a thread's own; with the
 * modifier `task` that is what the worksharing construct or the region reduces
 * by itself. */
EXPORT void *__kmpc_taskred_init(int32_t gtid, int32_t n, void *data)
{
    return data;
}
EXPORT void *__kmpc_task_reduction_init(int32_t gtid, int32_t n, void *data)
{
    return data;
}
EXPORT void *__kmpc_taskred_modifier_init(ident *loc, int32_t gtid,
                                          int32_t worksharing, int32_t n,
                                          void *data)
{
    return data;
}
EXPORT void *__kmpc_task_reduction_modifier_init(ident *loc, int32_t gtid,
                                                 int32_t worksharing, int32_t n,
                                                 void *data)
{
    return data;
}
EXPORT void __kmpc_task_reduction_modifier_fini(ident *loc, int32_t gtid,
                                                int32_t worksharing)
{
}
EXPORT void *__kmpc_task_reduction_get_th_data(int32_t gtid, void *group,
                                               void *data)
{
    return data;
}

EXPORT int32_t omp_in_final(void)
{
    return (task_kind() & IN_FINAL) != 0;
}
EXPORT int32_t omp_in_explicit_task(void)
{
    return (task_kind() & IN_TASK) != 0;
}
EXPORT int32_t omp_get_max_task_priority(void)
{
    return 0;
}
