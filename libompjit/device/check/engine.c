/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that instrumented kernels call: before each access or call
 * through a pointer, which may then go elsewhere; around what orders threads;
 * for memory. A thread's `check` (runtime-bc/host_abi.h) is its launch before
 * it enters and a struct thread while it runs.
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"

enum {
    FOUND = 4,
    SCRATCH = 4096,          /* bytes that an access which is wrong gets    */
    TEAM_STACK = 512 * 1024, /* at most, below a thread's first frame       */
    NULL_PAGE = 4096
};

/* A device thread while it runs. Its own alone. */
struct thread {
    struct ompjit__check_team *team;
    char *top;               /* the stack above is not the kernel's         */
    struct found {           /* memory that was looked up last              */
        uintptr_t begin, end;
        unsigned char *written;
        bool to;             /* mapped only `to`, and no write was seen     */
    } found[FOUND];
    uint32_t turn;           /* which goes next                             */
    uint64_t removals;       /* when they were                              */
    bool misread;            /* has got a 0 that is not there               */
    void *callee;            /* that a pointer led to last                  */
    _Alignas(16) char scratch[2][SCRATCH]; /* for reads, for writes */
};

/* A variable of a thread's that its team shares. */
struct local {
    struct local *next;
    uintptr_t begin, end;
    bool raced;              /* what is read and written has no order    */
    ompjit__touch read;      /* the first of bytes without a value; told at
                                the end, if it was no race: `kernel` is set */
    unsigned char written[]; /* 1 for each byte that has a value */
};

struct ompjit__check_team {
    ompjit__check_launch *launch;
    uint32_t number, n, left; /* `left` have ended; under launch->lock */
    pthread_mutex_t lock;     /* shadow */
    ompjit__shadow *shadow;   /* NULL: a team of one */
    struct local *locals;     /* the last one first; under `lock` */
    struct thread threads[];
};

/* --------------------------------------------------------------- launch */

/* False: no memory. check_end frees what it makes. */
bool ompjit__check_begin(ompjit__check_launch *launch, ompjit__check *check,
                         const char *kernel, uint32_t nteams)
{
    *launch = (ompjit__check_launch){.check = check, .kernel = kernel,
                                     .nteams = nteams};
    launch->teams = calloc(nteams, sizeof(struct ompjit__check_team *));
    if (launch->teams)
        pthread_mutex_init(&launch->lock, NULL);
    return launch->teams != NULL;
}

/* Memory has a new use. */
static void forget_locals(struct ompjit__check_team *team, uintptr_t begin,
                          uintptr_t end)
{
    for (struct local **at = &team->locals, *it; (it = *at);) {
        if (it->begin < end && begin < it->end) {
            *at = it->next;
            if (it->read.kernel && !it->raced)
                ompjit__report_memory(team->launch->check, &it->read);
            free(it);
        } else {
            at = &it->next;
        }
    }
}

/* Reads that are noted so far are reported: they were no races. */
static void team_free(struct ompjit__check_team *team)
{
    if (!team)
        return;
    forget_locals(team, 0, UINTPTR_MAX);
    ompjit__shadow_free(team->shadow);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

/* Teams of a kernel that was trapped are still there. */
void ompjit__check_end(ompjit__check_launch *launch)
{
    for (uint32_t i = 0; i < launch->nteams; i++)
        team_free(launch->teams[i]);
    free(launch->teams);
    pthread_mutex_destroy(&launch->lock);
}

/* For the team of the calling thread. NULL: no memory. */
static struct ompjit__check_team *team_new(ompjit__check_launch *launch,
                                           const ompjit_host_thread *self)
{
    size_t size = sizeof(struct ompjit__check_team) +
                  self->ntid * sizeof(struct thread);
    struct ompjit__check_team *team = calloc(1, size);
    if (!team)
        return NULL;
    team->launch = launch;
    team->number = self->ctaid;
    team->n = self->ntid;
    for (uint32_t i = 0; i < team->n; i++)
        team->threads[i].team = team;
    pthread_mutex_init(&team->lock, NULL);
    if (team->n > 1)
        team->shadow = ompjit__shadow_new(team->n);
    return team;
}

/* First in a kernel, which `frame` is the frame of. The team is made by
 * whichever thread of it comes first. */
static void check_enter(void *frame)
{
    ompjit_host_thread *self = ompjit_host_self();
    ompjit__check_launch *launch = self->check;
    pthread_mutex_lock(&launch->lock);
    struct ompjit__check_team **team = &launch->teams[self->ctaid];
    if (!*team)
        *team = team_new(launch, self);
    pthread_mutex_unlock(&launch->lock);
    if (!*team)
        ompjit_host_trap("no memory to check a team");
    struct thread *t = &(*team)->threads[self->tid];
    t->top = frame;
    self->check = t;
}

/* Last in a kernel, unless it was trapped. */
static void check_leave(void)
{
    ompjit_host_thread *self = ompjit_host_self();
    struct ompjit__check_team *team = ((struct thread *)self->check)->team;
    ompjit__check_launch *launch = team->launch;
    self->check = launch;
    pthread_mutex_lock(&launch->lock);
    bool last = ++team->left == team->n;
    if (last)
        launch->teams[team->number] = NULL;
    pthread_mutex_unlock(&launch->lock);
    if (last)
        team_free(team);
}

/* --------------------------------------------------------------- access */

/* Do all bytes of the access lie in [begin, end]? */
static bool inside(const char *p, uint64_t size, const char *begin,
                   const char *end)
{
    return p >= begin && p <= end && size <= (uint64_t)(end - p);
}

/* The stacks of the team's other threads: no GPU lets these be reached, but
 * what is wrong there is not what was asked for. */
static bool on_team_stack(const struct ompjit__check_team *team, const char *p)
{
    for (uint32_t i = 0; i < team->n; i++) {
        const char *top = team->threads[i].top;
        if (top && p < top && (uintptr_t)top - (uintptr_t)p < TEAM_STACK)
            return team->n > 1;
    }
    return false;
}

static bool holds(const struct found *f, uintptr_t at, uint64_t size)
{
    return at >= f->begin && at < f->end && size <= f->end - at;
}

/* The device memory that all of the access is in, or NULL. */
static struct found *find_memory(struct thread *t, const char *p,
                                       uint64_t size)
{
    ompjit__memory_map *map = &t->team->launch->check->memory;
    uint64_t removals = atomic_load(&map->removals);
    uintptr_t at = (uintptr_t)p;
    if (removals != t->removals)
        memset(t->found, 0, sizeof t->found);
    t->removals = removals;
    for (int i = 0; i < FOUND; i++)
        if (holds(&t->found[i], at, size))
            return &t->found[i];
    ompjit__range range;
    if (!ompjit__memory_holds(map, p, size, &range))
        return NULL;
    struct found *f = &t->found[t->turn++ % FOUND];
    *f = (struct found){range.begin, range.end, range.written,
                        range.to && !range.lost};
    return f;
}

/* Shared memory of the team, of either kind. */
static bool in_team_memory(const ompjit_host_thread *self, const char *p,
                           uint64_t size)
{
    return inside(p, size, self->shared, self->shared + self->shared_size) ||
           inside(p, size, self->dynamic,
                  self->dynamic + self->dynamic_size);
}

/* The access in a form that reports keep. */
static ompjit__touch touch_of(const ompjit_host_thread *self,
                              const struct thread *t, const char *p,
                              uint64_t size, const ompjit__site *site)
{
    return (ompjit__touch){.kernel = t->team->launch->kernel,
                           .team = self->ctaid,
                           .thread = self->tid,
                           .at = p,
                           .size = size,
                           .site = site};
}

/* Reports it, and gives the access memory where it does no harm. */
static void *wrong(const ompjit_host_thread *self, struct thread *t, char *p,
                   uint64_t size, const ompjit__site *site)
{
    bool write = site->flags & OMPJIT__SITE_WRITE;
    ompjit__touch touch = touch_of(self, t, p, size, site);
    ompjit__report_memory(t->team->launch->check, &touch);
    t->misread |= !write;
    if (size > SCRATCH)
        ompjit_host_trap("an access that was reported is too large to be left "
                         "out");
    return memset(t->scratch[write], 0, size);
}

/* Under team->lock; NULL: p is in none. */
static struct local *find_local(struct ompjit__check_team *team, const char *p)
{
    uintptr_t at = (uintptr_t)p;
    struct local *it = team->locals;
    while (it && (at < it->begin || at >= it->end))
        it = it->next;
    return it;
}

/* Notes the access and reports the race that it is. The lock is not held while
 * that is told: the application's function may take its time. */
static void find_race(const ompjit_host_thread *self, struct thread *t,
                      char *p, uint64_t size, const ompjit__site *site)
{
    struct ompjit__check_team *team = t->team;
    ompjit__conflict other;
    pthread_mutex_lock(&team->lock);
    bool race = ompjit__shadow_access(team->shadow, self->tid, (uintptr_t)p,
                                      size, site, &other);
    struct local *it = race ? find_local(team, p) : NULL;
    if (it)
        it->raced = true;
    pthread_mutex_unlock(&team->lock);
    if (!race)
        return;
    ompjit__touch touch = touch_of(self, t, p, size, site);
    ompjit__report_race(team->launch->check, &touch, &other);
}

/* Notes a write. False: a read of bytes of which none has a value; copies may
 * have such among theirs. */
static bool has_value(const struct found *f, const char *p, uint64_t size,
                      const ompjit__site *site)
{
    unsigned char *written = f->written;
    if (!written)
        return true;
    written += (uintptr_t)p - f->begin;
    bool write = site->flags & OMPJIT__SITE_WRITE, any = write || !site->size;
    for (uint64_t i = 0; i < size; i++)
        if (write)
            __atomic_store_n(&written[i], 1, __ATOMIC_RELAXED);
        else
            any |= __atomic_load_n(&written[i], __ATOMIC_RELAXED);
    return any;
}

/* As has_value, of variables that the team shares. */
static void touch_local(const ompjit__touch *t, struct ompjit__check_team *team)
{
    pthread_mutex_lock(&team->lock);
    struct local *it = find_local(team, t->at);
    if (it && t->size <= it->end - (uintptr_t)t->at) {
        struct found f = {it->begin, it->end, it->written, false};
        if (!has_value(&f, t->at, t->size, t->site) && !it->read.kernel) {
            it->read = *t;
            it->read.unwritten = it->read.local = true;
        }
    }
    pthread_mutex_unlock(&team->lock);
}

/* Reports a read of bytes that nothing has written. */
static void no_value(const ompjit_host_thread *self, struct thread *t, char *p,
                     uint64_t size, const ompjit__site *site)
{
    ompjit__touch touch = touch_of(self, t, p, size, site);
    touch.unwritten = true;
    ompjit__report_memory(t->team->launch->check, &touch);
}

/* A write to what nothing may copy back. */
static void lose(const ompjit_host_thread *self, struct thread *t,
                 struct found *f, const char *p, uint64_t size,
                 const ompjit__site *site)
{
    ompjit__touch touch = touch_of(self, t, p, size, site);
    ompjit__lost *lost = ompjit__lost_new(&touch);
    if (!ompjit__memory_lose(&t->team->launch->check->memory, p, lost))
        ompjit__lost_free(lost);
    f->to = false;
}

/* The address that the access is to use. The thread's own frames, which most
 * accesses are to, are looked at first and need no lock. */
static void *check_range(char *p, const ompjit__site *site, uint64_t size)
{
    const ompjit_host_thread *self = ompjit_host_self();
    struct thread *t = self->check;
    if (!size || inside(p, size, __builtin_frame_address(0), t->top))
        return p;
    if (!in_team_memory(self, p, size)) {
        struct found *f = find_memory(t, p, size);
        if (!f && on_team_stack(t->team, p))
            return p;
        if (!f && (!atomic_load(&t->team->launch->check->unified) ||
                   (uintptr_t)p < NULL_PAGE))
            return wrong(self, t, p, size, site);
        if (f && !has_value(f, p, size, site))
            no_value(self, t, p, size, site);
        if (f && f->to && site->flags & OMPJIT__SITE_WRITE)
            lose(self, t, f, p, size, site);
    }
    ompjit__touch touch = touch_of(self, t, p, size, site);
    touch_local(&touch, t->team);
    if (t->team->shadow)
        find_race(self, t, p, size, site);
    return p;
}

/* The access of one load or store, whose size its site knows. */
static void *check_access(char *p, const ompjit__site *site)
{
    return check_range(p, site, site->size);
}

/* ---------------------------------------------------------------- calls */

/* In place of a function that the device does not have: gives 0. */
static struct zero {
    uint64_t number;
    double real;
} call_nothing(void)
{
    return (struct zero){0};
}

/* Is it the address of a function in any image that is loaded? */
static bool is_of_device(ompjit__check *check, const void *callee)
{
    bool found = false;
    pthread_mutex_lock(&check->lock);
    for (size_t i = 0; i < check->nimages && !found; i++)
        for (ompjit__callees_of f = check->callees[i]; *f && !found; f++)
            found = *f == callee;
    pthread_mutex_unlock(&check->lock);
    return found;
}

/* The function to call. After a read that was reported has given 0, a null
 * pointer may be that one's doing, and is no second report. */
static void *check_call(void *callee, const ompjit__site *site)
{
    const ompjit_host_thread *self = ompjit_host_self();
    struct thread *t = self->check;
    ompjit__check *check = t->team->launch->check;
    if (callee && (callee == t->callee || is_of_device(check, callee)))
        return t->callee = callee;
    ompjit__touch touch = touch_of(self, t, callee, 0, site);
    if (callee || !t->misread)
        ompjit__report_call(check, &touch);
    return (void *)call_nothing;
}

/* ---------------------------------------------------------------- order */

/* Orders what this thread has done before what the next to acquire does. */
static void release(enum ompjit__sync kind, uint64_t id)
{
    const ompjit_host_thread *self = ompjit_host_self();
    struct ompjit__check_team *team = ((struct thread *)self->check)->team;
    if (!team->shadow)
        return;
    pthread_mutex_lock(&team->lock);
    ompjit__shadow_release(team->shadow, self->tid, kind, id);
    pthread_mutex_unlock(&team->lock);
}

/* Orders what the thread does from here on after releases of the same object.
 */
static void acquire(enum ompjit__sync kind, uint64_t id)
{
    const ompjit_host_thread *self = ompjit_host_self();
    struct ompjit__check_team *team = ((struct thread *)self->check)->team;
    if (!team->shadow)
        return;
    pthread_mutex_lock(&team->lock);
    ompjit__shadow_acquire(team->shadow, self->tid, kind, id);
    pthread_mutex_unlock(&team->lock);
}

/* Locks and atomics by their address; fences are all one object, NULL. */
static void check_release(void *object)
{
    release(OMPJIT__SYNC_OBJECT, (uintptr_t)object);
}

static void check_acquire(void *object)
{
    acquire(OMPJIT__SYNC_OBJECT, (uintptr_t)object);
}

/* Barrier 0 of all threads is one thing; those of some have numbers above. */
static void check_barrier(uint32_t id, uint32_t n)
{
    enum { SOME = 16 };
    uint64_t number = n ? SOME + id % SOME : 0;
    release(OMPJIT__SYNC_BARRIER, number);
    ompjit_host_barrier(id, n);
    acquire(OMPJIT__SYNC_BARRIER, number);
}

/* A shuffle orders the lanes of the warp that take part. */
static uint64_t check_shuffle(uint32_t mask, uint64_t value, uint32_t source)
{
    uint32_t warp = ompjit_host_self()->tid / OMPJIT_HOST_WARP;
    release(OMPJIT__SYNC_WARP, warp);
    uint64_t result = ompjit_host_shuffle(mask, value, source);
    acquire(OMPJIT__SYNC_WARP, warp);
    return result;
}

static void check_warp_sync(uint32_t mask)
{
    check_shuffle(mask, 0, OMPJIT_HOST_WARP);
}

/* --------------------------------------------------------------- memory */

/* Under team->lock. */
static void make_fresh(struct ompjit__check_team *team, void *p, uint64_t size)
{
    forget_locals(team, (uintptr_t)p, (uintptr_t)p + size);
    if (team->shadow)
        ompjit__shadow_fresh(team->shadow, (uintptr_t)p, size);
}

/* The memory begins anew: earlier accesses to it race with nothing. */
static void check_fresh(void *p, uint64_t size)
{
    struct thread *t = ompjit_host_self()->check;
    pthread_mutex_lock(&t->team->lock);
    make_fresh(t->team, p, size);
    pthread_mutex_unlock(&t->team->lock);
}

/* A variable that the team shares begins; without memory it is not watched. */
static void check_local(void *p, uint64_t size)
{
    struct ompjit__check_team *team =
        ((struct thread *)ompjit_host_self()->check)->team;
    struct local *it = calloc(1, sizeof *it + size);
    pthread_mutex_lock(&team->lock);
    make_fresh(team, p, size);
    if (it) {
        it->begin = (uintptr_t)p;
        it->end = it->begin + size;
        it->next = team->locals;
        team->locals = it;
    }
    pthread_mutex_unlock(&team->lock);
}

/* The runtime, or a function that is not checked, may write to it. */
static void check_given_local(void *p)
{
    struct ompjit__check_team *team =
        ((struct thread *)ompjit_host_self()->check)->team;
    pthread_mutex_lock(&team->lock);
    struct local *it = find_local(team, p);
    if (it)
        memset(it->written, 1, it->end - it->begin);
    pthread_mutex_unlock(&team->lock);
}

/* The context's memory; in a kernel only. */
static ompjit__memory_map *memory(void)
{
    struct thread *t = ompjit_host_self()->check;
    return &t->team->launch->check->memory;
}

/* A function that is not checked got the address and may write there. */
static void check_given(void *p)
{
    ompjit__memory_written(memory(), p, 0);
    check_given_local(p);
}

static void *check_malloc(size_t size)
{
    void *p = ompjit__memory_new(memory(), size, OMPJIT__MEMORY_HEAP);
    if (p)
        check_fresh(p, size);
    return p;
}

static void *check_calloc(size_t n, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(n, size, &all))
        return NULL;
    void *p = check_malloc(all);
    return p ? memset(p, 0, all) : NULL;
}

static void check_free(void *p)
{
    if (p && !ompjit__memory_end(memory(), p))
        ompjit_host_trap("free of an address that the kernel's malloc did not "
                         "return, or that was freed before");
}

/* A new block always, so that uses of the old address are found. */
static void *check_realloc(void *p, size_t size)
{
    ompjit__range old;
    if (!p)
        return check_malloc(size);
    if (!ompjit__memory_find(memory(), p, &old))
        old = (ompjit__range){0};
    free(old.name);
    void *to = check_malloc(size);
    if (!to)
        return NULL;
    size_t had = old.begin == (uintptr_t)p ? old.end - old.begin : 0;
    memcpy(to, p, size < had ? size : had);
    check_free(p);
    return to;
}

/* operator delete with a size, which says nothing new. */
static void check_delete(void *p, size_t size)
{
    check_free(p);
}

/* ---------------------------------------------------------------- image */

/* The names by which instrumented code calls (passes/host/instrument.c), and
 * those that stand for functions of the engine and of the C and C++ libraries
 * (Itanium C++ ABI: _Znwm is operator new(unsigned long)). */
static const ompjit__absolute own[] = {
    {"ompjit_check_enter", (void *)check_enter},
    {"ompjit_check_leave", (void *)check_leave},
    {"ompjit_check_access", (void *)check_access},
    {"ompjit_check_range", (void *)check_range},
    {"ompjit_check_call", (void *)check_call},
    {"ompjit_check_release", (void *)check_release},
    {"ompjit_check_acquire", (void *)check_acquire},
    {"ompjit_check_local", (void *)check_local},
    {"ompjit_check_given_local", (void *)check_given_local},
    {"ompjit_check_given", (void *)check_given},
    {"ompjit_host_barrier", (void *)check_barrier},
    {"ompjit_host_warp_sync", (void *)check_warp_sync},
    {"ompjit_host_shuffle", (void *)check_shuffle},
    {"malloc", (void *)check_malloc},
    {"calloc", (void *)check_calloc},
    {"realloc", (void *)check_realloc},
    {"free", (void *)check_free},
    {"_Znwm", (void *)check_malloc},
    {"_Znam", (void *)check_malloc},
    {"_ZdlPv", (void *)check_free},
    {"_ZdaPv", (void *)check_free},
    {"_ZdlPvm", (void *)check_delete},
    {"_ZdaPvm", (void *)check_delete},
};

/* Is the engine's function of that name replaced? */
static bool is_ours(const char *name)
{
    for (size_t i = 0; i < OMPJIT__COUNT(own); i++)
        if (!strcmp(own[i].name, name))
            return true;
    return false;
}

ompjit_status ompjit__check_define(ompjit__jit *jit,
                                   const ompjit__absolute *engine, size_t n,
                                   ompjit_error *err)
{
    ompjit_status status =
        ompjit__jit_define(jit, own, OMPJIT__COUNT(own), err);
    for (size_t i = 0; i < n && !status; i++)
        if (!is_ours(engine[i].name))
            status = ompjit__jit_define(jit, &engine[i], 1, err);
    return status;
}

/* The list is in the image (passes/host/instrument.c), and goes with it. */
static ompjit_status find_variables(ompjit__jit *jit,
                                    const ompjit__check_variable **v,
                                    size_t *n, ompjit_error *err)
{
    void *list, *count;
    ompjit_status status =
        ompjit__jit_lookup(jit, OMPJIT__CHECK_COUNT, &count, err);
    if (!status)
        status = ompjit__jit_lookup(jit, OMPJIT__CHECK_VARIABLES, &list, err);
    if (!status) {
        *v = list;
        *n = *(const uint64_t *)count;
    }
    return status;
}

static bool add_callees(ompjit__check *check, ompjit__callees_of callees)
{
    pthread_mutex_lock(&check->lock);
    ompjit__callees_of *more =
        realloc(check->callees, (check->nimages + 1) * sizeof *more);
    if (more) {
        check->callees = more;
        more[check->nimages++] = callees;
    }
    pthread_mutex_unlock(&check->lock);
    return more;
}

static void remove_callees(ompjit__check *check, ompjit__callees_of callees)
{
    pthread_mutex_lock(&check->lock);
    for (size_t i = check->nimages; i--;)
        if (check->callees[i] == callees)
            check->callees[i] = check->callees[--check->nimages];
    pthread_mutex_unlock(&check->lock);
}

/* On failure nothing of the image is left here. */
ompjit_status ompjit__check_load(ompjit__check *check, ompjit__jit *jit,
                                 ompjit_error *err)
{
    const ompjit__check_variable *v;
    void *callees;
    size_t n;
    ompjit_status status = find_variables(jit, &v, &n, err);
    if (!status)
        status = ompjit__jit_lookup(jit, OMPJIT__CHECK_CALLEES, &callees, err);
    if (status)
        return status;
    if (!add_callees(check, callees))
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    if (!ompjit__memory_add(&check->memory, v, n)) {
        remove_callees(check, callees);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    return OMPJIT_OK;
}

/* The image is still loaded: its lists are read once more. */
void ompjit__check_unload(ompjit__check *check, ompjit__jit *jit)
{
    const ompjit__check_variable *v;
    void *callees;
    size_t n;
    if (!ompjit__jit_lookup(jit, OMPJIT__CHECK_CALLEES, &callees, NULL))
        remove_callees(check, callees);
    if (!find_variables(jit, &v, &n, NULL))
        ompjit__memory_remove(&check->memory, v, n);
}
