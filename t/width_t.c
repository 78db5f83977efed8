/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many OS threads run a launch, by what launches took: of a machine that
 * exists in here alone, so that no clock decides.
 */
#include <pthread.h>

#include "device/engine/width.h"
#include "t/tap.h"

enum { ONE = OMPJIT__WIDTH_ONE, TEAMS = OMPJIT__WIDTH_TEAMS,
       THREADS = OMPJIT__WIDTH_THREADS };

/* Nanoseconds of a launch that has some work, for each number of OS threads,
 * where a parallel region costs FORK and waking its threads WAKE. */
enum { FORK = 3000, WAKE = 80000 };

struct machine {
    uint64_t work;
    unsigned cores;
    double speedup; /* of all cores */
    bool asleep;    /* the threads are, at the next launch */
};

static uint64_t time_of(const struct machine *m, int width)
{
    if (width == ONE)
        return m->work;
    return (uint64_t)((double)m->work / m->speedup) + FORK +
           (m->asleep ? WAKE : 0);
}

static ompjit__width_choice choice(ompjit__paces *paces,
                                   ompjit__fork_costs *costs,
                                   const struct machine *m, uint64_t trips)
{
    return (ompjit__width_choice){.paces = paces,
                                  .costs = costs,
                                  .trips = trips,
                                  .crew = {1, m->cores, 0},
                                  .first = TEAMS};
}

static int launch(const struct machine *m, ompjit__width_choice *c)
{
    if (ompjit__width_alone(c->paces, c->trips, c->size))
        return ONE;
    ompjit__width_choose(c);
    uint64_t ns = time_of(m, c->width);
    if (c->weight)
        ompjit__width_note(c, ns, m->work,
                           c->width == ONE ? 0
                                           : (uint64_t)((double)m->work /
                                                        m->speedup));
    else
        ompjit__width_note(c, 0, 0, 0);
    return c->width;
}

/* The time of n launches in a row beyond that of the better width. */
static double excess(struct machine m, uint64_t trips, int n)
{
    ompjit__paces paces = {0};
    ompjit__fork_costs costs;
    double took = 0;
    ompjit__fork_costs_init(&costs);
    for (int i = 0; i < n; i++) {
        ompjit__width_choice c = choice(&paces, &costs, &m, trips);
        took += (double)time_of(&m, launch(&m, &c));
    }
    uint64_t one = time_of(&m, ONE), all = time_of(&m, TEAMS);
    return took / (double)n / (double)(one < all ? one : all);
}

/* On a thread of its own, which has no parallel region behind it. */
static void test_awake(void)
{
    static const struct {
        uint64_t work;
        unsigned cores;
        double speedup;
        const char *what;
    } rows[] = {
        {100, 2, 2, "0.1 us"},
        {1000, 2, 2, "1 us"},
        {5000, 2, 2, "5 us, just below the crossing"},
        {7000, 2, 2, "7 us, just above it"},
        {100000, 2, 2, "0.1 ms"},
        {1000000000, 2, 2, "1 s"},
        {100000, 2, 0.5, "0.1 ms that do not scale"},
        {50000, 64, 50, "50 us on 64 cores"},
        {1000, 64, 50, "1 us on 64 cores"},
        {1000000, 64, 1, "1 ms on 64 cores, limited by memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int known = 0; known < 2; known++) {
            struct machine m = {rows[i].work, rows[i].cores, rows[i].speedup,
                                false};
            double e = excess(m, known ? 1000 : 0, 1000);
            ok(e < 1.15, "%s%s: %.3f times the better", rows[i].what,
               known ? "" : ", trips not known", e);
        }
}

/* A loop after each pause: the threads sleep. */
static void *paused(void *arg)
{
    struct machine *m = arg;
    ompjit__paces *paces = calloc(1, sizeof *paces);
    ompjit__fork_costs costs;
    ompjit__fork_costs_init(&costs);
    ompjit__width_choice c = choice(paces, &costs, m, 1000);
    c.paces->work_per_trip = (float)m->work / 1000; /* of another size */
    intptr_t width = launch(m, &c);
    free(paces);
    return (void *)width;
}

static int after_pause(uint64_t work)
{
    struct machine m = {work, 2, 2, true};
    pthread_t t;
    void *width;
    pthread_create(&t, NULL, paused, &m);
    pthread_join(t, &width);
    return (int)(intptr_t)width;
}

/* Launches in a row, on threads that sleep until they are woken. */
static void *row(void *arg)
{
    struct machine *m = arg;
    static ompjit__paces paces;
    ompjit__fork_costs costs;
    intptr_t first = 0;
    ompjit__fork_costs_init(&costs);
    paces.work_per_trip = (float)m->work / 1000;
    for (int i = 1; i <= 100 && !first; i++) {
        ompjit__width_choice c = choice(&paces, &costs, m, 1000);
        if (launch(m, &c) == TEAMS)
            first = i;
    }
    return (void *)first;
}

static void test_sleep(void)
{
    ok(after_pause(1000) == ONE, "1 us wakes nobody");
    ok(after_pause(40000) == ONE, "40 us wake nobody");
    ok(after_pause(10000000) == TEAMS, "10 ms wake all");
    struct machine m = {40000, 2, 2, true};
    pthread_t t;
    void *first;
    pthread_create(&t, NULL, row, &m);
    pthread_join(t, &first);
    ok((intptr_t)first > 1 && (intptr_t)first < 10,
       "40 us again and again wake them: launch %d", (int)(intptr_t)first);
}

static void test_sizes(void)
{
    ompjit__paces paces = {0};
    ompjit__fork_costs costs;
    struct machine small = {500, 2, 2, false}, large = {1000000, 2, 2, false};
    int wrong = 0;
    ompjit__fork_costs_init(&costs);
    for (int i = 0; i < 400; i++) {
        ompjit__width_choice a = choice(&paces, &costs, &small, 1000);
        ompjit__width_choice b = choice(&paces, &costs, &large, 2000000);
        int x = launch(&small, &a), y = launch(&large, &b);
        if (i > 2)
            wrong += (x != ONE) + (y != TEAMS);
    }
    ok(wrong < 8, "sizes of one kernel have widths of their own: %d", wrong);
    ompjit__width_choice c = choice(&paces, &costs, &large, 500000);
    ok(launch(&large, &c) == TEAMS, "a new size goes by the others' cost");
    c = choice(&paces, &costs, &small, 30);
    ok(launch(&small, &c) == ONE, "  a small one too");
}

/* The compiler tells what an iteration takes at most. */
static void test_instructions(void)
{
    ompjit__fork_costs costs;
    struct machine m = {500, 2, 2, false};
    ompjit__fork_costs_init(&costs);
    for (int small = 0; small < 2; small++) {
        ompjit__paces paces = {0};
        ompjit__width_choice c = choice(&paces, &costs, &m,
                                        small ? 100 : 1000000);
        c.instructions = 30;
        ok(launch(&m, &c) == (small ? ONE : TEAMS),
           "a first launch of %s", small ? "little work runs alone"
                                         : "much work does not");
    }
}

static void test_kinds(void)
{
    ompjit__paces paces = {0};
    ompjit__fork_costs costs;
    struct machine m = {500, 2, 2, false};
    int alone = 0;
    ompjit__fork_costs_init(&costs);
    for (int i = 0; i < 300; i++) {
        ompjit__width_choice c = choice(&paces, &costs, &m, 10);
        c.crew[ONE] = 0;
        alone += launch(&m, &c) == ONE;
    }
    ok(!alone, "what may not run alone never does");
    ompjit__width_choice c = {.paces = &paces, .costs = &costs, .size = 7,
                              .crew = {1, 0, 2}, .first = THREADS};
    ok(launch(&m, &c) == THREADS, "the first launch is as was said");
}

int main(void)
{
    test_sleep();
    test_awake();
    test_sizes();
    test_instructions();
    test_kinds();
    return done_testing();
}
