/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime-bc/host_abi.h for tests: a team's threads take turns on ucontexts, in
 * one OS thread; whoever waits yields until it need not. Team-shared variables
 * are ordinary globals of the object under test.
 */
#include "rt_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "abi/offload.h"
#include "runtime-bc/host_abi.h"

enum {
    MAX_THREADS = 256,
    STACK = 256 * 1024,
    BARRIERS = 16,
    MAX_TURNS = 1 << 22
};

typedef struct fiber {
    ompjit_host_thread t;
    ucontext_t context;
    char *stack;
    int over;
    uint64_t given;
    uint32_t waits_for; /* lanes */
} fiber;

static struct {
    fiber fibers[MAX_THREADS];
    unsigned n, current, turns;
    ucontext_t scheduler;
    struct {
        unsigned arrived, phase;
    } barriers[BARRIERS];
    void *kernel;
    void **params;
    const char *error;
} team;

const ompjit__device_environment __omp_rtl_device_environment = {
    .num_devices = 1};

static fiber *me(void)
{
    return &team.fibers[team.current];
}

ompjit_host_thread *ompjit_host_self(void)
{
    return &me()->t;
}

void ompjit_host_yield(void)
{
    swapcontext(&me()->context, &team.scheduler);
}

void ompjit_host_trap(const char *message)
{
    team.error = message;
    for (;;)
        ompjit_host_yield();
}

void ompjit_host_assert_failed(const char *expression, const char *file,
                               uint32_t line, const char *function)
{
    ompjit_host_trap(expression);
}

/* One launch, whose teams run one after the other. */
uint64_t ompjit_host_lock_holder(void)
{
    return UINT64_C(1) << OMPJIT_HOST_LOCK_THREAD_BITS | (team.current + 1);
}
bool ompjit_host_lock_lost(uint32_t mark)
{
    return false;
}

static unsigned alive(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < team.n; i++)
        n += !team.fibers[i].over;
    return n;
}

void ompjit_host_barrier(uint32_t id, uint32_t n)
{
    unsigned phase = team.barriers[id].phase;
    team.barriers[id].arrived++;
    while (team.barriers[id].phase == phase) {
        if (team.barriers[id].arrived >= (n ? n : alive())) {
            team.barriers[id].arrived = 0;
            team.barriers[id].phase++;
        } else {
            ompjit_host_yield();
        }
    }
}

/* The last lane of the mask to come lets the others go. */
void ompjit_host_warp_sync(uint32_t mask)
{
    unsigned first = team.current & ~31u;
    me()->waits_for = mask;
    while (me()->waits_for) {
        uint32_t come = 0;
        for (unsigned lane = 0; lane < 32; lane++) {
            fiber *f = &team.fibers[first + lane];
            if (first + lane >= team.n || f->over || f->waits_for == mask)
                come |= 1u << lane;
        }
        if ((come & mask) != mask)
            ompjit_host_yield();
        else
            for (unsigned lane = 0; lane < 32 && first + lane < team.n; lane++)
                if (mask >> lane & 1)
                    team.fibers[first + lane].waits_for = 0;
    }
}

uint64_t ompjit_host_shuffle(uint32_t mask, uint64_t value, uint32_t source)
{
    unsigned from = (team.current & ~31u) + source;
    me()->given = value;
    ompjit_host_warp_sync(mask);
    uint64_t got = value;
    if (mask >> source & 1 && from < team.n && !team.fibers[from].over)
        got = team.fibers[from].given;
    ompjit_host_warp_sync(mask);
    return got;
}

uint32_t ompjit_host_active_mask(void)
{
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned i = (team.current & ~31u) + lane;
        mask |= (uint32_t)(i < team.n && !team.fibers[i].over) << lane;
    }
    return mask;
}

uint64_t ompjit_host_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
double ompjit_host_wtime(void)
{
    return (double)ompjit_host_clock() * 1e-9;
}
int32_t ompjit_host_vprintf(const char *format, const void *packed)
{
    return fputs(format, stderr);
}

static void thread_main(void)
{
    void **p = team.params;
#define P(i) *(void **)p[i]
    ((void (*)(void *, void *, void *, void *, void *))team.kernel)(
        P(0), P(1), P(2), P(3), P(4));
    me()->over = 1;
    ompjit_host_yield();
}

static void start_team(unsigned id, unsigned teams, unsigned threads)
{
    memset(team.barriers, 0, sizeof team.barriers);
    team.n = threads;
    team.turns = 0;
    for (unsigned i = 0; i < threads; i++) {
        fiber *f = &team.fibers[i];
        f->t = (ompjit_host_thread){.tid = i,
                                    .ntid = threads,
                                    .ctaid = id,
                                    .nctaid = teams,
                                    .ntid3 = {threads, 1, 1},
                                    .nctaid3 = {teams, 1, 1}};
        f->over = 0;
        f->waits_for = 0;
        if (!f->stack)
            f->stack = malloc(STACK);
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack;
        f->context.uc_stack.ss_size = STACK;
        makecontext(&f->context, thread_main, 0);
    }
}

const char *rt_host_run(void *kernel, unsigned teams, unsigned threads,
                        void **params)
{
    team.kernel = kernel;
    team.params = params;
    team.error = NULL;
    for (unsigned id = 0; id < teams && !team.error; id++) {
        start_team(id, teams, threads);
        while (alive() && !team.error) {
            if (team.turns++ > MAX_TURNS)
                team.error = "threads wait for ever";
            team.current = (team.current + 1) % threads;
            if (!me()->over)
                swapcontext(&team.scheduler, &me()->context);
        }
        team.current = 0;
    }
    return team.error;
}
