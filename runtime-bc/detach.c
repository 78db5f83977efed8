/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks that are not over when the thread that met them goes on: those with a
 * `detach` clause whose event nobody has fulfilled, and those that depend on
 * such a task and therefore have not run yet. Each thread has a list of its
 * own, of which others touch only whether an event is fulfilled; it runs what
 * it can where it has to wait. Without a task that allows an event nothing of
 * this is in a kernel.
 */
#include "task.h"

const uint32_t ompjit_use_events = 0;

/* Order is that of creation. */
typedef struct pending {
    struct pending *next;
    task *deferred;     /* has still to begin, or NULL */
    bool over;          /* has ended but for its event */
    uint32_t fulfilled; /* 0: it has an event that is not */
    uint32_t number, parent;
    int32_t group;
    uint32_t n;
    dependence *list;
} pending;

/* Numbers grow with each task of the thread. 0 is that of a task which began
 * when the thread had no list; only its end gives it one. */
typedef struct waiting {
    pending *first, *last;
    uint32_t latest, current;
    uint32_t region; /* numbers above are the region's that the thread is in */
    int32_t group;   /* taskgroups around, relative to the first task's */
} waiting;

static waiting *SHARED all_waiting;

EXPORT void ompjit_detach_init(void)
{
    all_waiting = NULL;
}
EXPORT void ompjit_detach_deinit(void)
{
    if (all_waiting)
        free(all_waiting);
}

static waiting *own_if_any(void)
{
    return all_waiting ? all_waiting + plat_tid() : NULL;
}

/* -------------------------------------------------------------- the list */

static pending *pending_new(void)
{
    pending *p = malloc(sizeof *p);
    if (!p)
        plat_fail("out of device memory for a task that waits");
    *p = (pending){.fulfilled = 1};
    return p;
}

static void append(waiting *w, pending *p, uint32_t parent, uint32_t n,
                   const dependence *list)
{
    p->number = ++w->latest;
    p->parent = parent;
    p->group = w->group;
    if (n && !(p->list = malloc(n * sizeof *list)))
        plat_fail("out of device memory for a task's dependences");
    p->n = n;
    for (uint32_t i = 0; i < n; i++)
        p->list[i] = list[i];
    if (w->last)
        w->last->next = p;
    else
        w->first = p;
    w->last = p;
}

static bool is_complete(const pending *p)
{
    return p->over && __scoped_atomic_load_n(&p->fulfilled, __ATOMIC_ACQUIRE,
                                             __MEMORY_SCOPE_DEVICE);
}

static void drop_complete(waiting *w)
{
    pending *next;
    pending *p = w->first;
    w->first = w->last = NULL;
    for (; p; p = next) {
        next = p->next;
        p->next = NULL;
        if (is_complete(p)) {
            if (p->list)
                free(p->list);
            free(p);
        } else {
            if (w->last)
                w->last->next = p;
            else
                w->first = p;
            w->last = p;
        }
    }
}

/* ----------------------------------------------------------- dependences */

enum { IN = 1, IN_OUT_SET = 8, ALL_MEMORY = 0x80 };

static bool conflict(const dependence *a, const dependence *b)
{
    if ((a->flags | b->flags) & ALL_MEMORY)
        return true;
    return a->address == b->address &&
           !(a->flags == b->flags &&
             (a->flags == IN || a->flags == IN_OUT_SET));
}

/* Is a task with these dependences to wait for p? */
static bool waits_for(uint32_t parent, uint32_t n, const dependence *list,
                      const pending *p)
{
    if (p->parent != parent)
        return false;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < p->n; k++)
            if (conflict(&list[i], &p->list[k]))
                return true;
    return false;
}

/* Must the task wait for one of those before `end` (NULL: for any)? */
static bool must_wait(const waiting *w, uint32_t parent, uint32_t n,
                      const dependence *list, const pending *end)
{
    for (const pending *p = w->first; p != end; p = p->next)
        if (!is_complete(p) && waits_for(parent, n, list, p))
            return true;
    return false;
}

/* ----------------------------------------------------------- run and wait */

/* In place of the task that waits, as a child of the one that made it. */
static void run(waiting *w, pending *p)
{
    task *t = p->deferred;
    uint32_t current = w->current;
    int32_t group = w->group;
    p->deferred = NULL;
    w->current = p->parent;
    w->group = p->group;
    header_of(t)->event = p;
    ompjit_run_task(0, t);
    w->current = current;
    w->group = group;
}

static bool run_one(waiting *w)
{
    for (pending *p = w->first; p; p = p->next)
        if (p->deferred && !must_wait(w, p->parent, p->n, p->list, p)) {
            run(w, p);
            return true;
        }
    return false;
}

enum what { CHILDREN, GROUP, REGION };

static bool any_left(const waiting *w, enum what what)
{
    for (const pending *p = w->first; p; p = p->next)
        if (what == CHILDREN ? p->parent == w->current
            : what == GROUP  ? p->group >= w->group
                             : p->number > w->region)
            return true;
    return false;
}

static void step(waiting *w)
{
    if (!run_one(w))
        plat_yield();
    drop_complete(w);
}

static void wait_until_none(waiting *w, enum what what)
{
    drop_complete(w);
    while (any_left(w, what))
        step(w);
}

EXPORT NOINLINE void ompjit_detach_wait_for(uint32_t n, const dependence *list)
{
    waiting *w = own_if_any();
    while (w && must_wait(w, w->current, n, list, NULL))
        step(w);
}
EXPORT NOINLINE void ompjit_detach_wait_children(void)
{
    waiting *w = own_if_any();
    if (w)
        wait_until_none(w, CHILDREN);
}
EXPORT NOINLINE void ompjit_detach_wait_region(void)
{
    waiting *w = own_if_any();
    if (w)
        wait_until_none(w, REGION);
}
EXPORT NOINLINE void ompjit_detach_yield(void)
{
    waiting *w = own_if_any();
    if (w)
        step(w);
    else
        plat_yield();
}
EXPORT NOINLINE void ompjit_detach_group(int32_t change)
{
    waiting *w = own_if_any();
    if (w && change < 0)
        wait_until_none(w, GROUP);
    if (w)
        w->group += change;
}

/* --------------------------------------------------------- tasks, regions */

EXPORT NOINLINE void ompjit_detach_enter(task_header *h)
{
    waiting *w = own_if_any();
    h->creator = w ? w->current : 0;
    if (w)
        w->current = ++w->latest;
}

/* The list may have been made in the task. */
EXPORT NOINLINE void ompjit_detach_leave(task_header *h, uint32_t n,
                                         const dependence *list)
{
    waiting *w = own_if_any();
    pending *p = h->event;
    if (!w)
        return;
    w->current = h->creator ? h->creator : ++w->latest;
    if (!p)
        return;
    if (!p->number) /* it was not deferred */
        append(w, p, w->current, n, list);
    p->over = true;
}

EXPORT NOINLINE bool ompjit_detach_defer(task *t, uint32_t n,
                                         const dependence *list)
{
    waiting *w = own_if_any();
    if (!w || !must_wait(w, w->current, n, list, NULL))
        return false;
    pending *p = header_of(t)->event;
    if (!p)
        p = pending_new();
    p->deferred = t;
    append(w, p, w->current, n, list);
    return true;
}

EXPORT NOINLINE void ompjit_detach_region_begin(detached_region *outer)
{
    waiting *w = own_if_any();
    outer->region = w ? w->region : 0;
    outer->current = w ? w->current : 0;
    if (w) {
        w->region = w->latest;
        w->current = ++w->latest;
    }
}
EXPORT NOINLINE void ompjit_detach_region_end(const detached_region *outer)
{
    waiting *w = own_if_any();
    if (!w)
        return;
    wait_until_none(w, REGION);
    w->region = outer->region;
    w->current = outer->current ? outer->current : ++w->latest;
}

/* ---------------------------------------------------------------- events */

EXPORT void *__kmpc_task_allow_completion_event(ident *loc, int32_t gtid,
                                                task *t)
{
    if (!ompjit_use_events)
        return NULL;
    waiting *w = ompjit_own_element((void *IN_SHARED *)&all_waiting,
                                    sizeof *w);
    if (!w->current)
        w->current = ++w->latest;
    pending *p = pending_new();
    p->fulfilled = 0;
    header_of(t)->event = p;
    return p;
}

EXPORT void omp_fulfill_event(uint64_t event)
{
    pending *p = (pending *)event;
    if (p)
        __scoped_atomic_store_n(&p->fulfilled, 1, __ATOMIC_RELEASE,
                                __MEMORY_SCOPE_DEVICE);
}
