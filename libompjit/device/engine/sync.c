/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host engine: how device threads wait for each other, and what else
 * device code calls (runtime-bc/host_abi.h).
 *
 * A fiber that waits leaves its OS thread to the member's next: to one that has
 * not started yet, as long as there are any. A member tells
 * the team of its fibers at a barrier when the last of them has come, or when
 * none can run, so that a barrier costs one atomic addition for each OS thread
 * and a switch of stacks for each fiber. A member with nothing to run spins,
 * then yields its processor, then sleeps. When all of them sleep and nothing
 * has happened since, no thread of the team can ever go on: a deadlock.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/engine/fault.h"
#include "device/engine/thread.h"

typedef struct ompjit__host_team team;

_Thread_local struct fiber *ompjit__host_current
    __attribute__((tls_model("initial-exec")));
#define current ompjit__host_current

/* --------------------------------------------------------------- waiting */

/* Something has happened that a member may wait for. Without sleepers it takes
 * no lock: a member that is about to sleep looks at `events` again under the
 * lock. */
void ompjit__host_signal(team *t)
{
    atomic_fetch_add(&t->events, 1);
    if (!atomic_load(&t->sleepers))
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

/* All members leave their fibers as soon as they look: a kernel that computes
 * does not, and is stopped by stop.c. */
static void stop(team *t)
{
    atomic_store(&t->stop, true);
    ompjit__host_signal(t);
}

/* Do all members that are there sleep, each after it has seen the last event?
 * Under the lock, where nobody falls asleep or wakes. */
static bool all_asleep(const team *t)
{
    for (uint32_t i = 0; i < t->nmembers; i++)
        if (t->members[i].asleep && t->members[i].seen != t->events)
            return false;
    return t->sleepers == t->active;
}

/* Until an event after `seen`, or the team stops. The last to fall asleep finds
 * a deadlock. */
static void fall_asleep(struct member *m, uint32_t seen)
{
    team *t = m->team;
    pthread_mutex_lock(&t->lock);
    m->seen = seen;
    m->asleep = true;
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(&t->events) == seen && !t->stop) {
        if (all_asleep(t)) {
            t->deadlock = true;
            atomic_store(&t->stop, true);
            pthread_cond_broadcast(&t->wake);
        } else {
            pthread_cond_wait(&t->wake, &t->lock);
        }
    }
    atomic_fetch_sub(&t->sleepers, 1);
    m->asleep = false;
    pthread_mutex_unlock(&t->lock);
}

/* Until there is an event that was not `seen`. */
static void wait_for_event(struct member *m, uint32_t seen)
{
    enum { SPINS = 300, YIELDS = 200 };
    team *t = m->team;
    int spins = t->nmembers > t->processors ? 0 : SPINS;
    for (int i = 0; t->nmembers > 1 && i < spins + YIELDS; i++) {
        if (atomic_load_explicit(&t->events, memory_order_acquire) != seen)
            return;
        if (i < spins)
            ompjit__fiber_relax();
        else
            sched_yield();
    }
    fall_asleep(m, seen);
}

/* -------------------------------------------------------------- barriers */

/* The number of phases that have ended; `state` has it in its high half, and in
 * the low half how many threads have come. */
static uint32_t phase_of(const struct barrier *b)
{
    return (uint32_t)(atomic_load_explicit(&b->state, memory_order_acquire) >>
                      32);
}

/* Ends the phase if all have come who must. Both who comes and who ends asks,
 * each after it has told of itself, so one of them sees that all have. */
static void open_if_full(team *t, uint32_t id)
{
    struct barrier *b = &t->barriers[id];
    uint64_t now = atomic_load(&b->state);
    for (;;) {
        uint32_t come = (uint32_t)now, live = atomic_load(&t->live);
        uint32_t expected = atomic_load(&b->expected);
        if (!come || come < (expected && expected < live ? expected : live))
            return;
        if (atomic_compare_exchange_weak(&b->state, &now,
                                         ((now >> 32) + 1) << 32))
            break;
    }
    ompjit__host_signal(t);
}

/* A member's fibers whose phase is over can run. */
static void collect_barrier(struct member *m, uint32_t id)
{
    if (!m->counted[id].n ||
        phase_of(&m->team->barriers[id]) == m->phase[id])
        return;
    list_move(&m->ready, &m->counted[id]);
    if (!m->pending[id].n)
        m->used &= ~(1u << id);
}

/* Has the team count the member's fibers that came to a barrier. */
static void publish_barrier(struct member *m, uint32_t id)
{
    struct barrier *b = &m->team->barriers[id];
    if (!m->pending[id].n)
        return;
    collect_barrier(m, id);
    m->phase[id] =
        (uint32_t)(atomic_fetch_add(&b->state, m->pending[id].n) >> 32);
    list_move(&m->counted[id], &m->pending[id]);
    m->used |= 1u << id;
    open_if_full(m->team, id);
}

/* ----------------------------------------------------------------- warps */

/* Only where several members have lanes of the warp. */
static void warp_lock(struct warp *w)
{
    if (w->shared)
        pthread_mutex_lock(&w->lock);
}
static void warp_unlock(struct warp *w)
{
    if (w->shared)
        pthread_mutex_unlock(&w->lock);
}

/* Are all living lanes of the mask here? */
static bool warp_full(const struct warp *w, uint32_t mask)
{
    return !(mask & w->exists & ~w->waiting);
}

/* Exchanges the values of the lanes that wait, and lets them run. */
static void warp_open(team *t, uint32_t number, uint32_t mask)
{
    struct warp *w = &t->warps[number];
    struct fiber *lanes = &t->fibers[number * WARP];
    uint32_t here = mask & w->waiting;
    uint64_t given[WARP];
    for (uint32_t i = 0; i < WARP; i++)
        given[i] = here >> i & 1 ? lanes[i].value : 0;
    w->waiting &= ~here;
    for (uint32_t i = 0; i < WARP; i++) {
        if (!(here >> i & 1))
            continue;
        if (lanes[i].source < WARP && here >> lanes[i].source & 1)
            lanes[i].value = given[lanes[i].source];
        if (w->shared)
            atomic_store_explicit(&lanes[i].released, true,
                                  memory_order_release);
        else
            list_add(&lanes[i].member->ready, &lanes[i]);
    }
}

/* The member's fibers that another member's has let go. */
static void collect_warps(struct member *m)
{
    struct list waiting = {0};
    struct fiber *f;
    while ((f = list_take(&m->at_warp)))
        list_add(atomic_load_explicit(&f->released, memory_order_acquire)
                     ? &m->ready
                     : &waiting,
                 f);
    m->at_warp = waiting;
}

/* ------------------------------------------------------------ scheduling */

/* Does both at each of the member's barriers that is in use, and collects from
 * its warps. */
static void publish_and_collect(struct member *m)
{
    for (uint32_t ids = m->used; ids; ids &= ids - 1) {
        uint32_t id = (uint32_t)__builtin_ctz(ids);
        publish_barrier(m, id);
        collect_barrier(m, id);
    }
    if (m->at_warp.n)
        collect_warps(m);
}

static bool stopped(const team *t)
{
    return atomic_load_explicit(&t->stop, memory_order_relaxed);
}

/* The next fiber that can go on; NULL when all have ended or the team stops. */
static struct fiber *next_fiber(struct member *m)
{
    team *t = m->team;
    while (m->live && !stopped(t)) {
        struct fiber *f = list_take(&m->ready);
        if (f) {
            f->state = RUNNABLE;
            return f;
        }
        uint32_t seen = atomic_load(&t->events);
        publish_and_collect(m);
        if (!m->ready.n)
            wait_for_event(m, seen);
    }
    return NULL;
}

static void count_end(struct fiber *f);

/* Calls fibers that have not started, on this stack, while they end there. */
static void start_fibers(struct member *m, struct carrier *on)
{
    const ompjit__host_launch *launch = m->team->launch;
    while (m->unstarted < m->last && !stopped(m->team)) {
        struct fiber *f = &m->team->fibers[m->unstarted++];
        ompjit__host_fiber_init(m, f);
        f->carrier = on;
        current = f;
        launch->entry(launch->args);
        count_end(f);
    }
}

/* Out of all fibers, wherever they are. */
static __attribute__((noreturn)) void escape(struct member *m,
                                             const struct carrier *from)
{
    m->escaped = from != NULL;
    if (from)
        ompjit__fiber_leaving(&m->stack, true);
    ompjit__fiber_leave(m->escape);
}

static void carrier_main(void *arg);

/* Leaves this stack, whose pointer goes to *save, for another: of fiber `to`,
 * or of the OS thread, where all fibers have ended. `last`: for good. */
static void switch_to(struct member *m, void **save, struct fiber *to,
                      bool last)
{
    const struct carrier *carrier = to ? to->carrier : NULL;
    current = to;
    void *fake =
        ompjit__fiber_leaving(carrier ? &carrier->stack : &m->stack, last);
    ompjit__fiber_switch(save, to ? to->sp : m->sp);
    ompjit__fiber_entered(fake, NULL);
}

/* The same for a carrier that starts fibers. */
static void switch_to_new(struct member *m, void **save)
{
    enum { COLORS = 64, LINES = 5 };
    struct carrier *c = ompjit__host_carrier_take(m);
    if (!c) {
        m->team->no_memory = true;
        stop(m->team);
        return;
    }
    size_t size = c->stack.size - c->color * LINES % COLORS * LINE;
    c->member = m;
    ompjit__stack_reset(&c->stack);
    c->sp = ompjit__fiber_prepare(c->stack.base, size, carrier_main, c);
    void *fake = ompjit__fiber_leaving(&c->stack, false);
    ompjit__fiber_switch(save, c->sp);
    ompjit__fiber_entered(fake, NULL);
}

/* Leaves the current fiber until it is its turn again. */
static void leave(struct fiber *f)
{
    struct member *m = f->member;
    if (m->unstarted < m->last && !stopped(m->team)) {
        switch_to_new(m, &f->sp);
        if (!stopped(m->team))
            return;
    }
    struct fiber *next = next_fiber(m);
    if (!next)
        escape(m, f->carrier);
    if (next != f)
        switch_to(m, &f->sp, next, false);
}

/* The stack has no fiber any more. If all have ended, the OS thread, which
 * waits for that, goes on. */
static void carrier_main(void *arg)
{
    struct carrier *c = arg;
    struct member *m = c->member;
    ompjit__fiber_entered(NULL, m->stack.base ? NULL : &m->stack);
    start_fibers(m, c);
    c->next = m->idle;
    m->idle = c;
    struct fiber *next = next_fiber(m);
    if (!next && m->live)
        escape(m, c);
    switch_to(m, &c->sp, next, true);
    __builtin_unreachable(); /* prepared anew before it is used again */
}

/* On the OS thread's stack, which starts fibers until one of them waits. */
static void run_fibers(void **arg)
{
    struct member *m = (struct member *)arg;
    struct fiber *next;
    start_fibers(m, NULL);
    while ((next = next_fiber(m)))
        switch_to(m, &m->sp, next, false);
}

/* On the OS thread's stack; returns also when the team stops. */
void ompjit__host_member_run(struct member *m)
{
    ompjit__stack_current(&m->stack);
    m->base = __builtin_frame_address(0);
    if (!ompjit__fiber_call(run_fibers, (void **)m, &m->escape))
        return;
    ompjit__stack_left();
    ompjit__fault_left();
    if (m->escaped)
        ompjit__fiber_entered(NULL, NULL);
}

/* Those that wait for the threads that there are may go on. */
static void count_end(struct fiber *f)
{
    struct member *m = f->member;
    team *t = m->team;
    uint32_t number = f->self.tid / WARP;
    struct warp *w = &t->warps[number];
    f->state = ENDED;
    m->live--;
    atomic_fetch_sub(&t->live, 1);
    for (uint32_t ids = atomic_load(&t->used); ids; ids &= ids - 1)
        open_if_full(t, (uint32_t)__builtin_ctz(ids));
    warp_lock(w);
    w->exists &= ~(1u << f->self.tid % WARP);
    bool opened = false;
    for (uint32_t i = 0; w->waiting && i < WARP; i++) {
        const struct fiber *lane = &t->fibers[number * WARP + i];
        if (w->waiting >> i & 1 && warp_full(w, lane->mask)) {
            warp_open(t, number, lane->mask);
            opened = true;
        }
    }
    warp_unlock(w);
    if (opened)
        ompjit__host_signal(t);
}

/* The first trap of a team is its error; all others only leave. */
void ompjit__host_trapped(struct fiber *f, const ompjit__host_trap *trap)
{
    team *t = f->member->team;
    if (!atomic_flag_test_and_set(&t->trapping)) {
        t->trap = *trap;
        t->trap.thread = f->self.tid;
        t->trapped = true;
    }
    f->in_heap = false;
    if (!trap->stop)
        ompjit__stop_others(t->watch);
    if (t->threads > 1)
        stop(t);
    escape(f->member, f->carrier);
}

/* ------------------------------------------- what device code calls */

/* The calling device thread's own structure. Kernels ask once and keep it. */
ompjit_host_thread *ompjit_host_self(void)
{
    return &current->self;
}

/* `n` 0: all threads of the team; else so many, as `bar.sync id, n` has it. */
void ompjit_host_barrier(uint32_t id, uint32_t n)
{
    struct fiber *f = current;
    struct member *m = f->member;
    team *t = m->team;
    if (t->threads == 1)
        return;
    id %= BARRIERS;
    if (n >= t->threads)
        n = 0;
    struct barrier *b = &t->barriers[id];
    if (!(m->used >> id & 1)) {
        m->used |= 1u << id;
        if (!(atomic_load_explicit(&t->used, memory_order_relaxed) >> id & 1))
            atomic_fetch_or(&t->used, 1u << id);
    }
    if (atomic_load_explicit(&b->expected, memory_order_relaxed) != n)
        atomic_store(&b->expected, n);
    f->state = AT_BARRIER;
    f->barrier = id;
    list_add(&m->pending[id], f);
    if (n || m->pending[id].n == m->live)
        publish_barrier(m, id);
    leave(f);
}

/* Every lane of the mask gives `value` and gets that of lane `source`; its own
 * where that is not there. */
uint64_t ompjit_host_shuffle(uint32_t mask, uint64_t value, uint32_t source)
{
    struct fiber *f = current;
    struct member *m = f->member;
    team *t = m->team;
    if (t->threads == 1)
        return value;
    uint32_t number = f->self.tid / WARP, lane = 1u << f->self.tid % WARP;
    struct warp *w = &t->warps[number];
    warp_lock(w);
    f->value = value;
    f->source = source;
    f->mask = mask | lane;
    f->state = AT_WARP;
    f->released = false;
    w->waiting |= lane;
    bool full = warp_full(w, f->mask);
    if (full)
        warp_open(t, number, f->mask);
    warp_unlock(w);
    if (full && w->shared)
        ompjit__host_signal(t);
    if (w->shared)
        list_add(&m->at_warp, f);
    leave(f);
    return f->value;
}

void ompjit_host_warp_sync(uint32_t mask)
{
    ompjit_host_shuffle(mask, 0, WARP);
}

/* Lanes of the warp that have not ended. */
uint32_t ompjit_host_active_mask(void)
{
    const struct fiber *f = current;
    if (f->member->team->threads == 1)
        return 1;
    return f->member->team->warps[f->self.tid / WARP].exists;
}

/* In a loop that waits for another device thread: others of this OS thread run.
 */
void ompjit_host_yield(void)
{
    struct fiber *f = current;
    struct member *m = f->member;
    if (m->team->threads > 1)
        publish_and_collect(m);
    bool others = m->ready.n || m->unstarted < m->last;
    if (m->team->threads == 1 || (!others && !m->team->stop)) {
        sched_yield();
        return;
    }
    list_add(&m->ready, f);
    leave(f);
}

/* Does not return. The message is copied. */
void ompjit_host_trap(const char *message)
{
    /* The call is the last that its line does. */
    ompjit__host_trap trap = {
        .pc = (uintptr_t)__builtin_return_address(0) - 1};
    snprintf(trap.text, sizeof trap.text, "%s", message);
    ompjit__host_trapped(current, &trap);
}

void ompjit_host_assert_failed(const char *expression, const char *file,
                               uint32_t line, const char *function)
{
    ompjit__host_trap trap = {
        .pc = (uintptr_t)__builtin_return_address(0) - 1};
    snprintf(trap.text, sizeof trap.text,
             "an assertion failed: %s:%u: %s: `%s'", file, line, function,
             expression);
    ompjit__host_trapped(current, &trap);
}

/* Seconds, from a moment that is the same for all. */
double ompjit_host_wtime(void)
{
    return (double)ompjit__now() * 1e-9;
}

/* Nanoseconds: the tick that ompjit__environment_of tells. */
uint64_t ompjit_host_clock(void)
{
    return ompjit__now();
}
