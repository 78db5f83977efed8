/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host engine: teams of device threads on one OS thread.
 *
 * A team of one thread is a plain call. A team of several is as many fibers,
 * switched where they wait: at barriers, at warp operations, in spin loops.
 * Nothing preempts them, so the engine's own state needs no lock. What device
 * code calls (runtime-bc/host_abi.h) is here as well.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/host_layout.h"
#include "device/fiber.h"
#include "device/host_team.h"
#include "runtime-bc/host_abi.h"

_Static_assert(offsetof(ompjit_host_thread, shared) ==
                       OMPJIT__HOST_SHARED_OFFSET &&
                   offsetof(ompjit_host_thread, dynamic) ==
                       OMPJIT__HOST_DYNAMIC_OFFSET,
               "host_lower.c builds these offsets into kernels");

enum {
    WARP = OMPJIT_HOST_WARP,
    WARPS = OMPJIT__HOST_MAX_THREADS / WARP,
    BARRIERS = 16,
    STACK = 512 * 1024 /* bytes, committed as they are touched */
};

enum state { RUNNABLE, AT_BARRIER, AT_WARP, ENDED };

struct worker;

struct fiber {
    ompjit_host_thread self; /* first: device code holds this address */
    struct worker *worker;
    void *sp;
    char *stack;
    enum state state;
    uint32_t barrier;        /* AT_BARRIER: which */
    uint32_t mask, source;   /* AT_WARP: the lanes, and whose value */
    uint64_t value;          /* given, then received */
};

struct barrier {
    uint32_t waiting, expected; /* expected 0: all that live */
};

/* What one OS thread needs to run teams. */
struct worker {
    struct worker *next; /* in the pool */
    struct fiber *fibers;
    uint32_t nfibers;    /* allocated, with stacks but for the first */
    char *shared;
    size_t shared_size;
    /* The team that runs: */
    const ompjit__host_launch *launch;
    uint32_t threads, live;
    struct barrier barriers[BARRIERS];
    uint32_t exists[WARPS], waiting[WARPS]; /* lanes that live; AT_WARP */
    uint16_t ready[OMPJIT__HOST_MAX_THREADS]; /* ring of runnable fibers */
    uint32_t head, nready;
    void *scheduler; /* its stack pointer while fibers run */
    const void *scheduler_stack; /* what ompjit__fiber_entered says of it */
    size_t scheduler_size;
    jmp_buf escape;  /* out of a team of one */
    bool trapped;
    uint32_t trapped_thread;
    char trap[256];
};

struct ompjit__host_pool {
    pthread_mutex_t lock;
    struct worker *idle;
};

/* The device thread that this OS thread is at the moment. */
static _Thread_local struct fiber *current;

/* ----------------------------------------------------------------- pool */

ompjit__host_pool *ompjit__host_pool_new(void)
{
    ompjit__host_pool *pool = calloc(1, sizeof *pool);
    if (pool)
        pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

static void worker_free(struct worker *w)
{
    for (uint32_t i = 0; i < w->nfibers; i++)
        if (w->fibers[i].stack)
            munmap(w->fibers[i].stack, STACK);
    free(w->fibers);
    free(w->shared);
    free(w);
}

void ompjit__host_pool_free(ompjit__host_pool *pool)
{
    if (!pool)
        return;
    while (pool->idle) {
        struct worker *w = pool->idle;
        pool->idle = w->next;
        worker_free(w);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static struct worker *worker_take(ompjit__host_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct worker *w = pool->idle;
    if (w)
        pool->idle = w->next;
    pthread_mutex_unlock(&pool->lock);
    return w ? w : calloc(1, sizeof *w);
}

static void worker_return(ompjit__host_pool *pool, struct worker *w)
{
    pthread_mutex_lock(&pool->lock);
    w->next = pool->idle;
    pool->idle = w;
    pthread_mutex_unlock(&pool->lock);
}

/* A stack whose lowest page faults. */
static char *stack_new(void)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    return stack;
}

/* Room for a team of `n` threads with so much shared memory. */
static bool worker_fit(struct worker *w, uint32_t n, size_t shared)
{
    if (shared > w->shared_size) {
        char *block = aligned_alloc(128, (shared + 127) / 128 * 128);
        if (!block)
            return false;
        free(w->shared);
        w->shared = block;
        w->shared_size = shared;
    }
    if (n > w->nfibers) {
        struct fiber *fibers = realloc(w->fibers, n * sizeof *fibers);
        if (!fibers)
            return false;
        memset(fibers + w->nfibers, 0, (n - w->nfibers) * sizeof *fibers);
        w->fibers = fibers;
        w->nfibers = n;
    }
    for (uint32_t i = 0; n > 1 && i < n; i++)
        if (!w->fibers[i].stack && !(w->fibers[i].stack = stack_new()))
            return false;
    return true;
}

/* ------------------------------------------------------------ scheduling */

static void make_ready(struct worker *w, struct fiber *f)
{
    f->state = RUNNABLE;
    w->ready[(w->head + w->nready++) % OMPJIT__HOST_MAX_THREADS] =
        (uint16_t)f->self.tid;
}

/* Switches from one fiber to another; NULL is the scheduler. */
static void switch_to(struct worker *w, struct fiber *from, struct fiber *to)
{
    void *fake = ompjit__fiber_leaving(to ? to->stack : w->scheduler_stack,
                                       to ? STACK : w->scheduler_size,
                                       from && from->state == ENDED);
    ompjit__fiber_switch(from ? &from->sp : &w->scheduler,
                         to ? to->sp : w->scheduler);
    ompjit__fiber_entered(fake, NULL, NULL);
}

/* Leaves the current fiber for the next that can run, or for the scheduler. */
static void leave(struct fiber *f)
{
    struct worker *w = f->worker;
    if (!w->nready) {
        switch_to(w, f, NULL);
        return;
    }
    struct fiber *next = &w->fibers[w->ready[w->head]];
    w->head = (w->head + 1) % OMPJIT__HOST_MAX_THREADS;
    w->nready--;
    if (next == f)
        return;
    current = next;
    switch_to(w, f, next);
}

static bool barrier_full(const struct worker *w, const struct barrier *b)
{
    uint32_t expected = b->expected && b->expected < w->live ? b->expected
                                                             : w->live;
    return b->waiting && b->waiting >= expected;
}

static void barrier_open(struct worker *w, uint32_t id)
{
    w->barriers[id].waiting = 0;
    for (uint32_t i = 0; i < w->threads; i++)
        if (w->fibers[i].state == AT_BARRIER && w->fibers[i].barrier == id)
            make_ready(w, &w->fibers[i]);
}

/* Are all living lanes of the mask here? */
static bool warp_full(const struct worker *w, uint32_t warp, uint32_t mask)
{
    return !(mask & w->exists[warp] & ~w->waiting[warp]);
}

/* Exchanges the values of the lanes that wait, and lets them run. */
static void warp_open(struct worker *w, uint32_t warp, uint32_t mask)
{
    struct fiber *lanes = &w->fibers[warp * WARP];
    uint32_t here = mask & w->waiting[warp];
    uint64_t given[WARP];
    for (uint32_t i = 0; i < WARP; i++)
        given[i] = here >> i & 1 ? lanes[i].value : 0;
    for (uint32_t i = 0; i < WARP; i++) {
        if (!(here >> i & 1))
            continue;
        if (lanes[i].source < WARP && here >> lanes[i].source & 1)
            lanes[i].value = given[lanes[i].source];
        make_ready(w, &lanes[i]);
    }
    w->waiting[warp] &= ~here;
}

/* A thread has returned from the kernel: those that wait for all may go on. */
static void thread_ended(struct fiber *f)
{
    struct worker *w = f->worker;
    uint32_t warp = f->self.tid / WARP;
    f->state = ENDED;
    w->live--;
    w->exists[warp] &= ~(1u << f->self.tid % WARP);
    for (uint32_t id = 0; id < BARRIERS; id++)
        if (barrier_full(w, &w->barriers[id]))
            barrier_open(w, id);
    for (uint32_t i = 0; i < WARP; i++)
        if (w->waiting[warp] >> i & 1) {
            uint32_t mask = w->fibers[warp * WARP + i].mask;
            if (warp_full(w, warp, mask))
                warp_open(w, warp, mask);
        }
}

static void fiber_main(void *arg)
{
    struct fiber *f = arg;
    struct worker *w = f->worker;
    if (w->scheduler_stack) /* else the first, that the scheduler starts */
        ompjit__fiber_entered(NULL, NULL, NULL);
    else
        ompjit__fiber_entered(NULL, &w->scheduler_stack, &w->scheduler_size);
    w->launch->entry(w->launch->args);
    thread_ended(f);
    leave(f);
    __builtin_unreachable(); /* an ended fiber is never made ready */
}

/* ------------------------------------------------------------------ teams */

static uint32_t volume(const uint32_t n[3])
{
    return n[0] * n[1] * n[2];
}

static void set_self(struct worker *w, uint32_t thread, uint32_t team)
{
    const ompjit__geometry *g = w->launch->geometry;
    struct fiber *f = &w->fibers[thread];
    size_t dynamic = (w->launch->shared_size + 15u) / 16 * 16;
    f->worker = w;
    f->self = (ompjit_host_thread){
        .tid = thread,
        .ntid = w->threads,
        .ctaid = team,
        .nctaid = volume(g->teams),
        .ntid3 = {g->threads[0], g->threads[1], g->threads[2]},
        .nctaid3 = {g->teams[0], g->teams[1], g->teams[2]},
        .shared = w->shared,
        .dynamic = w->shared + dynamic,
        .dynamic_size = g->dynamic_shared,
        .shared_size = w->launch->shared_size,
        .check = w->launch->check,
    };
}

static ompjit_status trap_error(const struct worker *w, uint32_t team,
                                ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LAUNCH,
                        "kernel %s, team %u, thread %u: %s", w->launch->name,
                        team, w->trapped_thread, w->trap);
}

/* Threads numbered so far in a list of waiting ones: "0, 1, 2, ... (30)". */
static void list_threads(const struct worker *w, enum state state,
                         uint32_t barrier, ompjit__buf *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->threads; i++) {
        const struct fiber *f = &w->fibers[i];
        if (f->state != state || (state == AT_BARRIER && f->barrier != barrier))
            continue;
        if (n++ < 8)
            ompjit__buf_printf(out, "%s%u", n == 1 ? "" : ", ", i);
    }
    if (n > 8)
        ompjit__buf_printf(out, ", ... (%u in all)", n);
}

static ompjit_status deadlock_error(const struct worker *w, uint32_t team,
                                    ompjit_error *err)
{
    ompjit__buf text = {0};
    for (uint32_t id = 0; id < BARRIERS; id++) {
        if (!w->barriers[id].waiting)
            continue;
        ompjit__buf_printf(&text, "; waiting at barrier %u: thread ", id);
        list_threads(w, AT_BARRIER, id, &text);
    }
    ompjit__buf at_warp = {0};
    list_threads(w, AT_WARP, 0, &at_warp);
    if (at_warp.size)
        ompjit__buf_printf(&text, "; waiting for their warp: thread %s",
                           at_warp.data);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LAUNCH,
        "kernel %s, team %u: deadlock, %u of %u threads have ended%s",
        w->launch->name, team, w->threads - w->live, w->threads,
        text.data ? text.data : "");
    ompjit__buf_free(&text);
    ompjit__buf_free(&at_warp);
    return status;
}

static void team_start(struct worker *w, uint32_t team)
{
    memset(w->barriers, 0, sizeof w->barriers);
    memset(w->waiting, 0, sizeof w->waiting);
    memset(w->exists, 0, sizeof w->exists);
    w->live = w->threads;
    w->head = w->nready = 0;
    w->scheduler_stack = NULL;
    for (uint32_t i = 0; i < w->threads; i++) {
        struct fiber *f = &w->fibers[i];
        set_self(w, i, team);
        w->exists[i / WARP] |= 1u << i % WARP;
        if (f->sp)
            ompjit__fiber_reset(f->sp, f->stack + STACK);
        f->sp = ompjit__fiber_prepare(f->stack, STACK, fiber_main, f);
        make_ready(w, f);
    }
}

static ompjit_status run_fibers(struct worker *w, uint32_t team,
                                ompjit_error *err)
{
    team_start(w, team);
    while (w->nready && !w->trapped) {
        current = &w->fibers[w->ready[w->head]];
        w->head = (w->head + 1) % OMPJIT__HOST_MAX_THREADS;
        w->nready--;
        switch_to(w, NULL, current);
    }
    if (w->trapped)
        return trap_error(w, team, err);
    return w->live ? deadlock_error(w, team, err) : OMPJIT_OK;
}

static ompjit_status run_single(struct worker *w, uint32_t first, uint32_t last,
                                ompjit_error *err)
{
    set_self(w, 0, first);
    current = w->fibers;
    if (setjmp(w->escape))
        return trap_error(w, w->fibers->self.ctaid, err);
    const ompjit__host_launch *launch = w->launch;
    for (uint32_t team = first; team < last; team++) {
        current->self.ctaid = team;
        launch->entry(launch->args);
    }
    return OMPJIT_OK;
}

ompjit_status ompjit__host_run_teams(ompjit__host_pool *pool,
                                     const ompjit__host_launch *launch,
                                     uint32_t first, uint32_t last,
                                     ompjit_error *err)
{
    uint32_t threads = volume(launch->geometry->threads);
    size_t shared = (launch->shared_size + 15u) / 16 * 16 +
                    (size_t)launch->geometry->dynamic_shared;
    struct worker *w = worker_take(pool);
    if (!w)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    struct fiber *outer = current;
    ompjit_status status = OMPJIT_OK;
    if (!worker_fit(w, threads, shared))
        status = ompjit__fail(err, OMPJIT_ERR_NO_MEMORY, OMPJIT_STAGE_LAUNCH,
                              "kernel %s: no memory for %u stacks of %d bytes "
                              "and %zu bytes of shared memory",
                              launch->name, threads, STACK, shared);
    w->launch = launch;
    w->threads = threads;
    w->trapped = false;
    if (!status && threads == 1)
        status = run_single(w, first, last, err);
    else
        for (uint32_t team = first; !status && team < last; team++)
            status = run_fibers(w, team, err);
    current = outer;
    worker_return(pool, w);
    return status;
}

/* ------------------------------------------- what device code calls */

ompjit_host_thread *ompjit_host_self(void)
{
    return &current->self;
}

void ompjit_host_barrier(uint32_t id, uint32_t n)
{
    struct fiber *f = current;
    struct worker *w = f->worker;
    if (w->threads == 1)
        return;
    struct barrier *b = &w->barriers[id % BARRIERS];
    b->waiting++;
    b->expected = n;
    if (barrier_full(w, b)) {
        barrier_open(w, id % BARRIERS);
        return;
    }
    f->state = AT_BARRIER;
    f->barrier = id % BARRIERS;
    leave(f);
}

uint64_t ompjit_host_shuffle(uint32_t mask, uint64_t value, uint32_t source)
{
    struct fiber *f = current;
    struct worker *w = f->worker;
    if (w->threads == 1)
        return value;
    uint32_t warp = f->self.tid / WARP;
    f->value = value;
    f->source = source;
    f->mask = mask | 1u << f->self.tid % WARP;
    f->state = AT_WARP;
    w->waiting[warp] |= 1u << f->self.tid % WARP;
    if (warp_full(w, warp, f->mask))
        warp_open(w, warp, f->mask);
    leave(f);
    return f->value;
}

void ompjit_host_warp_sync(uint32_t mask)
{
    ompjit_host_shuffle(mask, 0, WARP);
}

uint32_t ompjit_host_active_mask(void)
{
    const struct fiber *f = current;
    if (f->worker->threads == 1)
        return 1;
    return f->worker->exists[f->self.tid / WARP];
}

void ompjit_host_yield(void)
{
    struct fiber *f = current;
    if (f->worker->threads == 1 || !f->worker->nready) {
        sched_yield();
        return;
    }
    make_ready(f->worker, f);
    leave(f);
}

void ompjit_host_trap(const char *message)
{
    struct fiber *f = current;
    struct worker *w = f->worker;
    w->trapped = true;
    w->trapped_thread = f->self.tid;
    snprintf(w->trap, sizeof w->trap, "%s", message);
    if (w->threads == 1)
        longjmp(w->escape, 1);
    switch_to(w, f, NULL);
    __builtin_unreachable(); /* the scheduler does not come back */
}

double ompjit_host_wtime(void)
{
    return (double)ompjit__now() * 1e-9;
}

uint64_t ompjit_host_clock(void)
{
    return ompjit__now();
}
