/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host engine: teams of device threads on OS threads.
 *
 * A team of one thread is a plain call, as is one for which the kernel has
 * loops over its threads; one of threads that never wait for each other is a
 * loop of calls. Any other team of several is as many fibers, dealt out to the
 * OS threads that join: whole warps where there are enough, so that a warp's
 * threads wait for each other without atomics. Nothing here makes an OS thread;
 * the callers are libomp's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/host_layout.h"
#include "base/fork.h"
#include "base/stack.h"
#include "device/engine/fault.h"
#include "device/engine/thread.h"
#include "device/engine/libomp.h"

_Static_assert(offsetof(ompjit_host_thread, shared) ==
                       OMPJIT__HOST_SHARED_OFFSET &&
                   offsetof(ompjit_host_thread, dynamic) ==
                       OMPJIT__HOST_DYNAMIC_OFFSET,
               "lower.c builds these offsets into kernels");

typedef struct ompjit__host_team team;

/* Bytes of a carrier's stack, committed as they are touched. */
enum { STACK = 4 << 20 };

/* A device's. Teams of several threads, with their stacks, that nobody uses. */
struct ompjit__host_pool {
    pthread_mutex_t lock; /* of idle                              */
    ompjit__fork_lock at_fork;
    team *idle;
    uint32_t processors;  /* when the device was opened           */
};

#define current ompjit__host_current

/* ----------------------------------------------------------------- pool */

/* NULL: no memory. */
ompjit__host_pool *ompjit__host_pool_new(void)
{
    ompjit__host_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        ompjit__fork_lock_init(&pool->at_fork, &pool->lock);
        pool->processors = ompjit__processors();
    }
    return pool;
}

/* Zeroed, for structures that have cache lines of their own. */
static void *lines_new(size_t n, size_t size)
{
    void *p = aligned_alloc(LINE, n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

/* Short waits are the rule, so locks spin a while where they can. */
static void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* Without fibers, members and shared memory: `prepare` makes room for those. */
static team *team_new(void)
{
    team *t = lines_new(1, sizeof *t);
    if (!t)
        return NULL;
    lock_init(&t->lock);
    pthread_cond_init(&t->wake, NULL);
    for (int i = 0; i < WARPS; i++)
        lock_init(&t->warps[i].lock);
    return t;
}

/* Also of a stack that has none. */
static void stack_free(ompjit__stack *stack)
{
    ompjit__stack_close(stack);
    if (stack->base)
        munmap(stack->base, stack->size);
}

/* No thread may run in the team. Its list has all of its carriers by then. */
static void team_free(team *t)
{
    for (struct carrier *c = t->carriers, *next; c; c = next) {
        next = c->next;
        stack_free(&c->stack);
        free(c);
    }
    for (int i = 0; i < WARPS; i++)
        pthread_mutex_destroy(&t->warps[i].lock);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t->fibers);
    free(t->members);
    free(t->shared);
    free(t);
}

/* All teams are idle: the device is closed. */
void ompjit__host_pool_free(ompjit__host_pool *pool)
{
    if (!pool)
        return;
    while (pool->idle) {
        team *t = pool->idle;
        pool->idle = t->next;
        team_free(t);
    }
    ompjit__fork_lock_end(&pool->at_fork);
    free(pool);
}

/* A team of any size: what it lacks is made by `prepare`. NULL: no memory. */
static team *team_take(ompjit__host_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    team *t = pool->idle;
    if (t)
        pool->idle = t->next;
    pthread_mutex_unlock(&pool->lock);
    if (!t && (t = team_new()))
        t->processors = pool->processors;
    return t;
}

/* Keeps the team's memory and stacks for the next. */
static void team_return(ompjit__host_pool *pool, team *t)
{
    pthread_mutex_lock(&pool->lock);
    t->next = pool->idle;
    pool->idle = t;
    pthread_mutex_unlock(&pool->lock);
}

/* A stack whose lowest pages fault. Huge pages would commit all of it. */
static bool stack_new(ompjit__stack *stack)
{
    char *base = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    mprotect(base, OMPJIT__HOST_GUARD, PROT_NONE);
#ifdef MADV_NOHUGEPAGE
    madvise(base, STACK, MADV_NOHUGEPAGE);
#endif
    *stack = (ompjit__stack){.base = base, .size = STACK};
    return true;
}

/* Contents are not kept: each team's shared memory begins without a value. */
static bool fit_shared(team *t, size_t size)
{
    if (size <= t->shared_size)
        return true;
    char *block = aligned_alloc(128, (size + 127) / 128 * 128);
    if (!block)
        return false;
    free(t->shared);
    t->shared = block;
    t->shared_size = size;
    return true;
}

/* Fibers are started anew for each team, so none is copied. */
static bool fit_fibers(team *t, uint32_t n)
{
    if (n <= t->nfibers)
        return true;
    free(t->fibers);
    t->fibers = lines_new(n, sizeof *t->fibers);
    t->nfibers = t->fibers ? n : 0;
    return t->fibers != NULL;
}

static bool fit_members(team *t, uint32_t n)
{
    if (n <= t->capacity)
        return true;
    free(t->members);
    t->members = lines_new(n, sizeof *t->members);
    t->capacity = t->members ? n : 0;
    return t->members != NULL;
}

/* ------------------------------------------------------------------ start */

/* Threads, or teams, of all three dimensions. */
static uint32_t volume(const uint32_t n[3])
{
    return n[0] * n[1] * n[2];
}

/* Bytes of the image's own shared memory, in front of the launch's dynamic one.
 */
static size_t static_size(const ompjit__host_launch *launch)
{
    return (launch->shared_size + 15u) / 16 * 16;
}

/* The members that all threads of the launch have in common. */
static ompjit_host_thread self_of(const ompjit__host_launch *launch)
{
    const ompjit__geometry *g = launch->geometry;
    return (ompjit_host_thread){
        .ntid = volume(g->threads),
        .nctaid = volume(g->teams),
        .ntid3 = {g->threads[0], g->threads[1], g->threads[2]},
        .nctaid3 = {g->teams[0], g->teams[1], g->teams[2]},
        .dynamic_size = g->dynamic_shared,
        .shared_size = launch->shared_size,
        .check = launch->check,
    };
}

/* The fiber's stack is its carrier's, which is chosen when it starts. */
void ompjit__host_fiber_init(struct member *m, struct fiber *f)
{
    team *t = m->team;
    f->member = m;
    f->state = RUNNABLE;
    f->self = self_of(t->launch);
    f->self.tid = (uint32_t)(f - t->fibers);
    f->self.ctaid = t->number;
    f->self.shared = t->shared;
    f->self.dynamic = t->shared + static_size(t->launch);
}

static size_t shared_size(const ompjit__host_launch *launch)
{
    return static_size(launch) + launch->geometry->dynamic_shared;
}

/* The status says when memory ran out: before the kernel began, or in it. */
static ompjit_status no_room(const ompjit__host_launch *launch,
                             ompjit_status status, ompjit_error *err)
{
    return ompjit__fail(err, status, OMPJIT_STAGE_LAUNCH,
                        "kernel %s: no memory for up to %u stacks of %d bytes "
                        "and %zu bytes of shared memory",
                        launch->name, volume(launch->geometry->threads), STACK,
                        shared_size(launch));
}

/* Memory for a team of the launch on up to `members` OS threads. */
static ompjit_status prepare(team *t, const ompjit__host_launch *launch,
                             uint32_t members, ompjit_error *err)
{
    t->launch = launch;
    t->watch = launch->watch;
    t->threads = volume(launch->geometry->threads);
    t->trapped = false;
    if (fit_shared(t, shared_size(launch)) && fit_fibers(t, t->threads) &&
        fit_members(t, members))
        return OMPJIT_OK;
    return no_room(launch, OMPJIT_ERR_NO_MEMORY, err);
}

/* Makes a team that has room the team of that number. Nobody else knows it yet,
 * so that the atomics are plain stores. */
static void start(team *t, uint32_t number)
{
    t->number = number;
    t->nmembers = 0;
    t->live = t->threads;
    t->used = 0;
    t->stop = t->deadlock = t->trapped = t->no_memory = false;
    atomic_flag_clear(&t->trapping);
    for (int id = 0; id < BARRIERS; id++)
        t->barriers[id].state = t->barriers[id].expected = 0;
}

/* The first thread of a member's part. */
static uint32_t part(uint32_t threads, uint32_t member, uint32_t members)
{
    uint32_t warps = (threads + WARP - 1) / WARP;
    uint64_t all = warps >= members ? warps : threads;
    uint64_t first = all * member / members;
    first *= warps >= members ? WARP : 1;
    return first < threads ? (uint32_t)first : threads;
}

/* Under the lock: how the team is dealt out. */
static void divide(team *t, uint32_t members)
{
    t->nmembers = t->active = members;
    for (uint32_t i = 0; i < members; i++) {
        struct member *m = &t->members[i];
        *m = (struct member){.team = t,
                             .first = part(t->threads, i, members),
                             .last = part(t->threads, i + 1, members)};
        m->unstarted = m->first;
        m->live = m->last - m->first;
    }
    for (uint32_t w = 0; w * WARP < t->threads; w++) {
        uint32_t lanes = t->threads - w * WARP;
        t->warps[w].exists = lanes < WARP ? (1u << lanes) - 1 : ~0u;
        t->warps[w].waiting = 0;
        t->warps[w].shared = members > (t->threads + WARP - 1) / WARP;
    }
}

/* -------------------------------------------------------------- carriers */

/* NULL: out of memory. Colors let stacks begin at different lines of a page, or
 * frames of the same depth would share few sets of the cache. */
static struct carrier *carrier_new(uint32_t color)
{
    struct carrier *c = calloc(1, sizeof *c);
    if (!c || !stack_new(&c->stack)) {
        free(c);
        return NULL;
    }
    c->color = color;
    return c;
}

/* One of this member's, else of the team's, else a new one. NULL: no memory. */
struct carrier *ompjit__host_carrier_take(struct member *m)
{
    team *t = m->team;
    struct carrier *c = m->idle;
    if (c) {
        m->idle = c->next;
        return c;
    }
    pthread_mutex_lock(&t->lock);
    uint32_t color = t->ncarriers;
    if ((c = t->carriers))
        t->carriers = c->next;
    else
        t->ncarriers++;
    pthread_mutex_unlock(&t->lock);
    return c ? c : carrier_new(color);
}

/* Under the team's lock. */
static void give_carrier(team *t, struct carrier *c)
{
    c->next = t->carriers;
    t->carriers = c;
}

/* Under the lock: also those of fibers that a team which has stopped has
 * abandoned. */
static void give_carriers(struct member *m)
{
    team *t = m->team;
    for (uint32_t i = m->first; m->live && i < m->unstarted; i++)
        if (t->fibers[i].carrier && t->fibers[i].state != ENDED)
            give_carrier(t, t->fibers[i].carrier);
    for (struct carrier *c = m->idle, *next; c; c = next) {
        next = c->next;
        give_carrier(t, c);
    }
    m->idle = NULL;
}

/* ------------------------------------------------------------------ join */

/* `members` is the same in all calls for one team; those beyond its threads
 * have nothing to do. Returns when the member's threads have ended or the team
 * stops. */
void ompjit__host_team_join(team *t, uint32_t member, uint32_t members)
{
    if (members > t->threads)
        members = t->threads;
    if (member >= members)
        return;
    pthread_mutex_lock(&t->lock);
    if (!t->nmembers)
        divide(t, members);
    pthread_mutex_unlock(&t->lock);

    struct member *m = &t->members[member];
    struct fiber *outer = current;
    ompjit__fault_thread();
    ompjit__host_member_run(m);
    current = outer;

    pthread_mutex_lock(&t->lock);
    give_carriers(m);
    t->active--;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

/* -------------------------------------------------------------------- end */

/* A launch that was stopped, or a kernel that failed. */
static ompjit_status trap_status(const team *t)
{
    if (!t->trap.stop)
        return OMPJIT_ERR_DEVICE;
    return t->trap.stop == OMPJIT__STOP_TIMEOUT ? OMPJIT_ERR_TIMEOUT
                                                : OMPJIT_ERR_ABORTED;
}

/* The place in the source is looked up where the image has lines. */
static ompjit_status trap_error(const team *t, uint32_t number,
                                ompjit_error *err)
{
    const ompjit__host_launch *launch = t->launch;
    ompjit__buf where = {0};
    if (t->trap.pc && launch->locate)
        launch->locate(launch->locate_data, t->trap.pc, &where);
    char thread[40];
    if (t->trap.thread != OMPJIT_HOST_NO_THREAD)
        snprintf(thread, sizeof thread, "thread %u", t->trap.thread);
    else
        snprintf(thread, sizeof thread, "one of threads 0 to %u",
                 volume(launch->geometry->threads) - 1);
    ompjit_status status = ompjit__fail(
        err, trap_status(t), OMPJIT_STAGE_LAUNCH,
        "kernel %s, team %u, %s: %s%s", launch->name, number, thread,
        t->trap.text, where.data ? where.data : "");
    ompjit__buf_free(&where);
    return status;
}

/* Others have nothing in their fiber yet. */
static bool was_started(const team *t, uint32_t thread)
{
    for (uint32_t i = 0; i < t->nmembers; i++)
        if (t->members[i].first <= thread && thread < t->members[i].unstarted)
            return true;
    return false;
}

/* The threads that wait, shortened: "0, 1, 2, ... (30 in all)". */
static void list_threads(const team *t, enum state state, uint32_t barrier,
                         ompjit__buf *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->threads; i++) {
        const struct fiber *f = &t->fibers[i];
        if (!was_started(t, i) || f->state != state ||
            (state == AT_BARRIER && f->barrier != barrier))
            continue;
        if (n++ < 8)
            ompjit__buf_printf(out, "%s%u", n == 1 ? "" : ", ", i);
    }
    if (n > 8)
        ompjit__buf_printf(out, ", ... (%u in all)", n);
}

/* All threads that wait are listed by what they wait for. */
static ompjit_status deadlock_error(const team *t, ompjit_error *err)
{
    ompjit__buf text = {0};
    for (uint32_t id = 0; id < BARRIERS; id++) {
        ompjit__buf at = {0};
        list_threads(t, AT_BARRIER, id, &at);
        if (at.size)
            ompjit__buf_printf(&text, "; waiting at barrier %u: thread %s", id,
                               at.data);
        ompjit__buf_free(&at);
    }
    ompjit__buf at_warp = {0};
    list_threads(t, AT_WARP, 0, &at_warp);
    if (at_warp.size)
        ompjit__buf_printf(&text, "; waiting for their warp: thread %s",
                           at_warp.data);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LAUNCH,
        "kernel %s, team %u: deadlock, %u of %u threads have ended%s",
        t->launch->name, t->number, t->threads - t->live, t->threads,
        text.data ? text.data : "");
    ompjit__buf_free(&text);
    ompjit__buf_free(&at_warp);
    return status;
}

/* The first thing that went wrong, in this order. */
static ompjit_status outcome(const team *t, ompjit_error *err)
{
    if (t->trapped)
        return trap_error(t, t->number, err);
    if (t->no_memory)
        return no_room(t->launch, OMPJIT_ERR_DEVICE, err);
    return t->deadlock ? deadlock_error(t, err) : OMPJIT_OK;
}

/* ------------------------------------------------- several OS threads */

/* `most` is how many OS threads will join at most. On failure there is no team.
 */
ompjit_status ompjit__host_team_begin(ompjit__host_pool *pool,
                                      const ompjit__host_launch *launch,
                                      uint32_t number, uint32_t most,
                                      team **out, ompjit_error *err)
{
    team *t = team_take(pool);
    if (!t)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    ompjit_status status = prepare(t, launch, most, err);
    if (status) {
        team_return(pool, t);
        return status;
    }
    start(t, number);
    *out = t;
    return OMPJIT_OK;
}

/* All members have left. The team goes back to the pool in any case. */
ompjit_status ompjit__host_team_end(ompjit__host_pool *pool, team *t,
                                    ompjit_error *err)
{
    ompjit_status status = outcome(t, err);
    team_return(pool, t);
    return status;
}

/* ------------------------------------------------------- one OS thread */

/* The team of one that each OS thread has, from its first launch to its end;
 * launches inside of one that runs make others. */
static _Thread_local struct {
    team *team;
    bool busy;
} own __attribute__((tls_model("initial-exec")));
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* For the end of an OS thread. */
static void free_own(void *t)
{
    own.team = NULL;
    team_free(t);
}

static void make_own_key(void)
{
    pthread_key_create(&own_key, free_own);
}

/* The OS thread's own one, where it has none yet; else one for this launch.
 * NULL: no memory. */
static team *single_new(void)
{
    team *t = team_new();
    if (!t || !fit_fibers(t, 1) || !fit_members(t, 1)) {
        if (t)
            team_free(t);
        return NULL;
    }
    t->threads = 1;
    t->members->team = t;
    t->fibers->member = t->members;
    if (own.team)
        return t;
    pthread_once(&own_once, make_own_key);
    if (!pthread_setspecific(own_key, t)) {
        own.team = t;
        own.busy = true;
    }
    return t;
}

/* The own team is kept for the thread's next launch. */
static void single_give(team *t)
{
    if (t == own.team)
        own.busy = false;
    else
        team_free(t);
}

/* One that has no room yet for the launch, or the OS thread has none. */
static ompjit_status single_fit(team **t, const ompjit__host_single *single,
                                ompjit_error *err)
{
    if (!*t && !(*t = single_new()))
        return no_room(single->launch, OMPJIT_ERR_NO_MEMORY, err);
    if (fit_shared(*t, single->shared))
        return OMPJIT_OK;
    single_give(*t);
    return no_room(single->launch, OMPJIT_ERR_NO_MEMORY, err);
}

/* A trap of a single team, which is ready for the next launch then. */
static ompjit_status single_trapped(team *t, ompjit_error *err)
{
    ompjit__fault_left();
    t->trapped = false;
    atomic_flag_clear(&t->trapping);
    return trap_error(t, t->fibers->self.ctaid, err);
}

/* Has the calling thread's stack room for what the kernel's loops keep for each
 * thread? */
static bool has_room(uint32_t threads)
{
    enum { FRAMES = 64 << 10 };
    uintptr_t end = ompjit__stack_find();
    uintptr_t left = (uintptr_t)__builtin_frame_address(0) - end;
    return !end || left >= (size_t)threads * OMPJIT__TEAM_THREAD_STACK + FRAMES;
}

ompjit__host_single ompjit__host_single_of(const ompjit__host_launch *launch)
{
    uint32_t threads = volume(launch->geometry->threads);
    return (ompjit__host_single){
        .launch = launch,
        .static_size = static_size(launch),
        .shared = shared_size(launch),
        .looped = launch->team && threads > 1 && has_room(threads),
        .self = self_of(launch),
    };
}

/* On the OS thread's own team of one, unless that runs a kernel from which this
 * launch was made: then on one that is made for it. */
ompjit_status ompjit__host_single_run(const ompjit__host_single *single,
                                      uint32_t first, uint32_t last,
                                      ompjit__host_watch *watch,
                                      ompjit_error *err)
{
    const ompjit__host_launch *launch = single->launch;
    ompjit_status status = OMPJIT_OK;
    team *t = own.busy ? NULL : own.team;
    own.busy |= t != NULL;
    if ((!t || t->shared_size < single->shared) &&
        (status = single_fit(&t, single, err)))
        return status;
    struct fiber *f = t->fibers, *outer = current;
    void (*entry)(void **args) = single->looped ? launch->team : launch->entry;
    uint32_t calls = single->looped ? 1 : single->self.ntid;
    t->launch = launch;
    t->watch = watch;
    t->members->base = __builtin_frame_address(0);
    f->self = single->self;
    f->self.shared = t->shared;
    f->self.dynamic = t->shared + single->static_size;
    ompjit__fault_thread();
    current = f;
    for (uint32_t number = first; !status && number < last; number++) {
        f->self.ctaid = number;
        for (uint32_t tid = 0; !status && tid < calls; tid++) {
            f->self.tid = tid;
            if (ompjit__fiber_call(entry, launch->args, &t->members->escape))
                status = single_trapped(t, err);
        }
    }
    current = outer;
    single_give(t);
    return status;
}

/* Teams from `first` to before `last`, one after the other, on this OS thread.
 * The first failure ends them. */
ompjit_status ompjit__host_run_teams(ompjit__host_pool *pool,
                                     const ompjit__host_launch *launch,
                                     uint32_t first, uint32_t last,
                                     ompjit_error *err)
{
    ompjit__host_single single = ompjit__host_single_of(launch);
    if (launch->independent || single.looped || single.self.ntid == 1)
        return ompjit__host_single_run(&single, first, last, launch->watch,
                                       err);
    team *t = team_take(pool);
    if (!t)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    struct fiber *outer = current;
    ompjit_status status = prepare(t, launch, 1, err);
    for (uint32_t number = first; !status && number < last; number++) {
        start(t, number);
        ompjit__host_team_join(t, 0, 1);
        status = outcome(t, err);
    }
    current = outer;
    team_return(pool, t);
    return status;
}
