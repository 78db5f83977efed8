/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Chooses how many OS threads run a launch, by what launches of the same
 * function and size took before.
 *
 * If a width has not been measured, its time is estimated: the work of all
 * threads together on one, or its share on each and the cost of a parallel
 * region, which is another while libomp's threads sleep. The width with the
 * least time is taken. Another one is tried when its time is less than a
 * sixty-fourth of what was spent since the last try, so that trying costs at
 * most that.
 *
 * Threads that sleep are woken where that pays for the launches to come: when
 * the launches in a row have lost as much by running alone as waking costs.
 */
#include <time.h>

#include "device/engine/width.h"

/* libomp's threads spin for 200 ms where nothing else is said. A program that
 * says otherwise, or that keeps them awake itself, changes what launches of
 * either kind take, and that is measured. */
static const uint64_t blocktime = 200000000;

enum {
    EARLY = 16,     /* launches of a size that are all timed   */
    SAMPLE = 8,     /* later one of so many, where they are short: */
    SHORT = 20000,  /* nanoseconds                             */
    TRY_SHARE = 64, /* trying costs one part of so many        */
    MEMORY = 4      /* of an average, in launches              */
};
/* Unmeasured and estimated to take at most so much longer than the best. */
static const float close = 1.2f;
/* One launch counts for no more than so many times the average. */
static const float outlier = 4;

/* State of the OS thread: the coarse clock behind its last parallel region, at
 * its last launch, and what launches have lost since by running alone. */
static _Thread_local struct {
    uint64_t forked, launched;
    float lost;
} mine __attribute__((tls_model("initial-exec")));

static uint64_t coarse_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static float get(const _Atomic float *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}

static void set(_Atomic float *p, float value)
{
    atomic_store_explicit(p, value, memory_order_relaxed);
}

/* Threads that do so at once may lose one of their values. */
static void average(_Atomic float *p, float value, float memory)
{
    float old = get(p);
    if (old > 0 && value > outlier * old)
        value = outlier * old;
    set(p, old > 0 ? old + (value - old) / memory : value);
}

void ompjit__fork_costs_init(ompjit__fork_costs *costs)
{
    set(&costs->ns[OMPJIT__AWAKE], 3000);
    set(&costs->ns[OMPJIT__ASLEEP], 60000);
}

/* ------------------------------------------------------------------ sizes */

/* Quarters of octaves; 0 is 0. */
static uint32_t magnitude(uint64_t n)
{
    if (n < 4)
        return (uint32_t)n;
    uint32_t bit = 63 - (uint32_t)__builtin_clzll(n);
    return bit * 4 + (uint32_t)(n >> (bit - 2) & 3);
}

static uint32_t digest(uint64_t trips, uint32_t size)
{
    return (size * 256 + magnitude(trips)) * 2 + 1;
}

static ompjit__pace *place(ompjit__paces *paces, uint32_t digest)
{
    return &paces->paces[(digest * 2654435769u >> 16) % OMPJIT__PACES];
}

/* The place of launches of this size. Two sizes that share one take turns. */
static ompjit__pace *pace_of(const ompjit__width_choice *c)
{
    uint32_t size = digest(c->trips, c->size);
    ompjit__pace *p = place(c->paces, size);
    if (atomic_load_explicit(&p->size, memory_order_relaxed) == size)
        return p;
    atomic_store_explicit(&p->size, size, memory_order_relaxed);
    atomic_store_explicit(&p->alone, false, memory_order_relaxed);
    atomic_store_explicit(&p->launches, 0, memory_order_relaxed);
    set(&p->work, 0);
    for (int when = 0; when < 2; when++) {
        set(&p->when[when].since, 0);
        for (int w = 0; w < OMPJIT__WIDTHS; w++)
            set(&p->when[when].ns[w], 0);
    }
    return p;
}

/* -------------------------------------------------------------- estimates */

/* 0: nothing is known. Before the function's first launch a nanosecond for each
 * instruction: the cache has none of its data. */
static float work_of(const ompjit__width_choice *c)
{
    float work = get(&c->pace->work);
    float per_trip = get(&c->paces->work_per_trip);
    if (!(per_trip > 0))
        per_trip = (float)c->instructions;
    return work > 0 ? work : per_trip * (float)c->trips;
}

static float estimate(const ompjit__width_choice *c, int when, int width)
{
    float ns = get(&c->pace->when[when].ns[width]);
    if (ns > 0)
        return ns;
    ns = work_of(c);
    return width == OMPJIT__WIDTH_ONE
               ? ns
               : ns / (float)c->crew[width] + get(&c->costs->ns[when]);
}

static enum ompjit__width best(const ompjit__width_choice *c, int when)
{
    int found = c->first;
    for (int w = 0; w < OMPJIT__WIDTHS; w++)
        if (c->crew[w] && estimate(c, when, w) < estimate(c, when, found))
            found = w;
    return (enum ompjit__width)found;
}

/* Another width than the best, if it is time to try it; else the best. */
static enum ompjit__width tried(const ompjit__width_choice *c,
                                enum ompjit__width best)
{
    _Atomic float *since = &c->pace->when[c->when].since;
    float ns = estimate(c, c->when, best);
    for (int w = 0; w < OMPJIT__WIDTHS; w++) {
        if (w == (int)best || !c->crew[w])
            continue;
        float other = estimate(c, c->when, w);
        bool known = get(&c->pace->when[c->when].ns[w]) > 0;
        if (known || other > close * ns)
            if (other * TRY_SHARE > get(since))
                continue;
        set(since, 0);
        return (enum ompjit__width)w;
    }
    return best;
}

/* Runs alone, as the threads sleep; unless launches in a row have lost as much
 * by that as it costs to wake them. */
static enum ompjit__width woken(const ompjit__width_choice *c, uint64_t now)
{
    enum ompjit__width wide = best(c, OMPJIT__AWAKE);
    if (wide == OMPJIT__WIDTH_ONE)
        return wide;
    float awake = estimate(c, OMPJIT__AWAKE, wide);
    float price = estimate(c, OMPJIT__ASLEEP, wide) - awake;
    if (now - mine.launched > blocktime)
        mine.lost = 0;
    mine.lost += estimate(c, OMPJIT__ASLEEP, OMPJIT__WIDTH_ONE) - awake;
    return mine.lost > price ? wide : OMPJIT__WIDTH_ONE;
}

/* ----------------------------------------------------------------- launch */

static enum ompjit__width chosen(const ompjit__width_choice *c, uint64_t now)
{
    if (!(work_of(c) > 0))
        return c->first;
    enum ompjit__width width = best(c, c->when);
    if (c->when == OMPJIT__ASLEEP && width == OMPJIT__WIDTH_ONE)
        width = woken(c, now);
    return tried(c, width);
}

void ompjit__width_choose(ompjit__width_choice *c)
{
    uint64_t now = coarse_now();
    c->pace = pace_of(c);
    c->when = now - mine.forked > blocktime ? OMPJIT__ASLEEP : OMPJIT__AWAKE;
    uint32_t launch = atomic_load_explicit(&c->pace->launches,
                                           memory_order_relaxed);
    atomic_store_explicit(&c->pace->launches, launch + 1,
                          memory_order_relaxed);
    c->width = chosen(c, now);
    c->weight = 1;
    bool settled =
        launch >= EARLY && estimate(c, c->when, c->width) < SHORT;
    if (settled)
        c->weight = launch % SAMPLE ? 0 : SAMPLE;
    atomic_store_explicit(
        &c->pace->alone,
        settled && best(c, OMPJIT__AWAKE) == OMPJIT__WIDTH_ONE &&
            best(c, OMPJIT__ASLEEP) == OMPJIT__WIDTH_ONE,
        memory_order_relaxed);
    mine.launched = now;
}

bool ompjit__width_alone(ompjit__paces *paces, uint64_t trips, uint32_t size)
{
    size = digest(trips, size);
    ompjit__pace *p = place(paces, size);
    if (!atomic_load_explicit(&p->alone, memory_order_relaxed) ||
        atomic_load_explicit(&p->size, memory_order_relaxed) != size)
        return false;
    uint32_t launch = atomic_load_explicit(&p->launches, memory_order_relaxed);
    if (launch % SAMPLE == 0)
        return false;
    atomic_store_explicit(&p->launches, launch + 1, memory_order_relaxed);
    return true;
}

/* The first launch of a size meets cold code and data: of it counts no more
 * than the work, until the next has told its own. */
static void note_times(const ompjit__width_choice *c, float ns, float work,
                       float cost)
{
    ompjit__pace *p = c->pace;
    bool first = atomic_load_explicit(&p->launches, memory_order_relaxed) <= 2;
    if (first)
        set(&p->work, work);
    else
        average(&p->work, work, MEMORY);
    if (c->trips)
        average(&c->paces->work_per_trip, work / (float)c->trips, MEMORY);
    set(&p->when[c->when].since,
        get(&p->when[c->when].since) + ns * (float)c->weight);
    if (first)
        return;
    average(&p->when[c->when].ns[c->width], ns, MEMORY);
    if (c->width != OMPJIT__WIDTH_ONE)
        average(&c->costs->ns[c->when], cost, 2 * MEMORY);
}

void ompjit__width_note(const ompjit__width_choice *c, uint64_t ns,
                        uint64_t work, uint64_t longest)
{
    if (c->weight)
        note_times(c, (float)(ns + 1), (float)(work + 1),
                   ns > longest ? (float)(ns - longest) : 1);
    if (c->width == OMPJIT__WIDTH_ONE)
        return;
    mine.forked = coarse_now();
    mine.lost = 0;
}
