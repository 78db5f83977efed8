/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops whose chunks threads fetch, and the order of their ordered regions.
 *
 * A team's loop is described in shared memory, and threads draw chunk numbers
 * from a counter; there is one at a time, since a loop begins with a barrier.
 * In static schedules and ordered loops a thread must remember how far it is:
 * it has a cursor. A loop outside of active parallel regions is one
 * thread's, and is described in memory of the thread's own, as there can be
 * one in the other.
 */
#include "loop.h"

/* `count` iterations, the first being `lower` in the loop's own type. A loop
 * that is only a team's part of one is final if it is the last part. */
typedef struct loop {
    uint64_t lower, count;
    int64_t step;
    uint64_t chunk;
    bool final;
} loop;

typedef struct solo_loop {
    loop l;
    uint32_t level; /* of nesting: none has two loops at a time */
    bool given;
    struct solo_loop *outer;
} solo_loop;

/* How a team gives out the iterations: all at once, chunk after chunk as
 * threads ask for them, or fixed by the thread's number. */
enum { ALL, DYNAMIC, GUIDED, TRAPEZOIDAL, CHUNKED, WHOLE };

static SHARED loop team_loop;
static SHARED uint32_t team_kind;
static SHARED bool team_ordered;
static SHARED uint32_t team_chunks, team_drawn; /* DYNAMIC, TRAPEZOIDAL */
static SHARED uint64_t team_given;              /* GUIDED: iterations   */
/* GUIDED: 1 of so many of the rest is a chunk's; TRAPEZOIDAL: by how much each
 * chunk is smaller than the one before. */
static SHARED uint64_t team_part;
static SHARED uint64_t team_turn; /* whose ordered region is the next one */

struct loop_cursor {
    uint64_t next; /* CHUNKED: first iteration of the next chunk; WHOLE: 1
                      when the one chunk has been given                 */
    uint64_t at;   /* ordered: the iteration that is running            */
};
loop_cursor *SHARED ompjit_cursors;

INLINE loop_cursor *own_cursor(void)
{
    return ompjit_cursors + plat_tid();
}

/* The last iteration of the chunk at `from`. */
INLINE uint64_t chunk_end(uint64_t from, uint64_t chunk, uint64_t count)
{
    return (count - from < chunk ? count : from + chunk) - 1;
}

/* The pipeline knows that no team has a second thread: order comes by itself,
 * and nothing need be divided. */
INLINE bool teams_are_one(void)
{
    return ompjit_fold_threads == 1;
}

/* ---------------------------------------------------- loops of one thread */

/* The caller's records, innermost first; NULL before there was one. */
INLINE solo_loop **solo_records(void)
{
    return ompjit_solo_loops ? ompjit_solo_loops + plat_tid() : NULL;
}

/* The record of the caller's loop; NULL if that is over. Records of deeper
 * levels are of loops that were left without a call that says so. */
static solo_loop *solo_of(uint32_t level)
{
    solo_loop **records = solo_records(), *solo = records ? *records : NULL;
    while (solo && solo->level > level) {
        *records = solo->outer;
        free(solo);
        solo = *records;
    }
    return solo && solo->level == level ? solo : NULL;
}

static void solo_end(uint32_t level)
{
    solo_loop *solo = solo_of(level);
    if (!solo)
        return;
    *solo_records() = solo->outer;
    free(solo);
}

/* The loop's numbers one by one: they need no registers behind the call. */
static NOINLINE void solo_begin(uint64_t lower, uint64_t count, int64_t step,
                                bool final, uint32_t level)
{
    solo_loop **records = ompjit_own_element(
        (void *IN_SHARED *)&ompjit_solo_loops, sizeof *records);
    solo_loop *solo = solo_of(level);
    if (!solo) {
        solo = malloc(sizeof *solo);
        if (!solo)
            plat_fail("out of device memory for a dispatched loop");
        solo->outer = *records;
        *records = solo;
    }
    solo->l = (loop){.lower = lower, .count = count, .step = step,
                     .final = final};
    solo->level = level;
    solo->given = false;
}

/* All of it, once; NULL: it was given. */
static NOINLINE const loop *solo_next(uint32_t level)
{
    solo_loop *solo = solo_of(level);
    if (!solo || solo->given || !solo->l.count) {
        solo_end(level);
        return NULL;
    }
    solo->given = true;
    return &solo->l;
}

/* ----------------------------------------------------------- team: begin */

/* A counter of 32 bits is what a GPU's shared memory adds to fast. A loop with
 * more chunks than those count, and each thread may draw one too many, gets
 * larger ones. */
INLINE void begin_dynamic(loop *l)
{
    const uint64_t most = UINT32_MAX - 4096;
    if (l->count / l->chunk >= most)
        l->chunk = l->count / most + 1;
    team_chunks = (uint32_t)(l->count / l->chunk + (l->count % l->chunk != 0));
    team_drawn = 0;
}

INLINE void begin_guided(const loop *l, uint32_t n)
{
    uint64_t part;
    team_part = __builtin_mul_overflow(l->chunk, 2u * n, &part) ? ~0ull : part;
    team_given = 0;
}

/* From a half of a fair share down to the given chunk in equal steps. */
INLINE void begin_trapezoidal(loop *l, uint32_t n)
{
    uint64_t first = l->count / (2u * n), least = l->chunk;
    if (!first)
        first = 1;
    if (least > first)
        least = first;
    uint64_t pair = first + least, rest = l->count % pair;
    uint64_t chunks = l->count / pair * 2 + (rest > 0) + (rest > pair / 2);
    team_part = chunks > 1 ? (first - least) / (chunks - 1) : 0;
    team_chunks = (uint32_t)chunks;
    team_drawn = 0;
    l->chunk = first;
}

static NOINLINE void begin_cursors(void)
{
    if (!ompjit_cursors)
        ompjit_cursors = malloc(plat_ntid() * sizeof *ompjit_cursors);
    if (!ompjit_cursors)
        plat_fail("out of device memory for a dispatched loop");
}

INLINE void describe(loop l, uint32_t kind, bool ordered, uint32_t n)
{
    if (kind == ALL)
        team_drawn = 0;
    else if (kind == DYNAMIC)
        begin_dynamic(&l);
    else if (kind == GUIDED)
        begin_guided(&l, n);
    else if (kind == TRAPEZOIDAL)
        begin_trapezoidal(&l, n);
    if (ordered || kind == CHUNKED || kind == WHOLE)
        begin_cursors();
    team_loop.lower = l.lower;
    team_loop.count = l.count;
    team_loop.step = l.step;
    team_loop.chunk = l.chunk;
    team_loop.final = l.final;
    team_kind = kind;
    team_ordered = ordered;
    team_turn = 0;
}

/* Every thread of the team comes with the same loop. */
INLINE void team_begin(uint32_t context, loop l, uint32_t kind, bool ordered)
{
    uint32_t thread = context_thread(context);
    context_barrier(context);
    if (thread == 0)
        describe(l, kind, ordered, context_threads(context));
    context_barrier(context);
    if (kind == CHUNKED &&
        __builtin_mul_overflow(l.chunk, thread, &own_cursor()->next))
        own_cursor()->next = ~0ull;
    if (kind == WHOLE)
        own_cursor()->next = 0;
}

/* ------------------------------------------------------------ team: next */

/* A number for each thread; those that come here together draw theirs at
 * once. */
INLINE uint32_t draw(void)
{
    uint32_t lanes, rank, first = 0;
    plat_gather(&lanes, &rank);
    if (!rank)
        first = __scoped_atomic_fetch_add(
            &team_drawn, (uint32_t)__builtin_popcount(lanes), __ATOMIC_RELAXED,
            __MEMORY_SCOPE_WRKGRP);
    return plat_share(lanes, first) + rank;
}

INLINE bool all_next(uint64_t *from, uint64_t *to)
{
    if (team_drawn || !team_loop.count)
        return false;
    team_drawn = 1;
    *from = 0;
    *to = team_loop.count - 1;
    return true;
}

INLINE bool dynamic_next(uint64_t *from, uint64_t *to)
{
    uint32_t number = draw();
    if (number >= team_chunks)
        return false;
    *from = number * team_loop.chunk;
    *to = chunk_end(*from, team_loop.chunk, team_loop.count);
    return true;
}

/* Chunk i begins at the sum of those before, i times their mean. */
static NOINLINE bool trapezoidal_next(uint64_t *from, uint64_t *to)
{
    uint64_t i = draw(), first = team_loop.chunk, count = team_loop.count;
    uint64_t times = i % 2 ? i : i / 2;
    uint64_t mean = i % 2 ? first - team_part * ((i - 1) / 2)
                          : 2 * first - team_part * (i - 1);
    if (i >= team_chunks || __builtin_mul_overflow(times, mean, from) ||
        *from >= count)
        return false;
    *to = chunk_end(*from, first - i * team_part, count);
    return true;
}

/* Takes the next iterations for `lanes` threads: as many for each as half of a
 * fair share of the rest, in multiples of the chunk. */
INLINE uint64_t guided_take(uint32_t lanes, uint64_t *size)
{
    uint64_t at = __scoped_atomic_load_n(&team_given, __ATOMIC_RELAXED,
                                         __MEMORY_SCOPE_WRKGRP);
    uint64_t count = team_loop.count, chunk = team_loop.chunk, all;
    do {
        *size = ((count - at - 1) / team_part + 1) * chunk;
        if (__builtin_mul_overflow(*size, lanes, &all) || all > count - at)
            all = count - at;
    } while (!__scoped_atomic_compare_exchange_n(
        &team_given, &at, at + all, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
        __MEMORY_SCOPE_WRKGRP));
    return at;
}

static NOINLINE bool guided_next(uint64_t *from, uint64_t *to)
{
    uint64_t count = team_loop.count, at = 0, size = 0, before;
    uint32_t lanes, rank;
    plat_gather(&lanes, &rank);
    if (!rank)
        at = guided_take((uint32_t)__builtin_popcount(lanes), &size);
    at = plat_share64(lanes, at);
    size = plat_share64(lanes, size);
    if (__builtin_mul_overflow(size, rank, &before) || before >= count - at)
        return false;
    *from = at + before;
    *to = chunk_end(*from, size, count);
    return true;
}

INLINE bool chunked_next(uint32_t n, uint64_t *from, uint64_t *to)
{
    loop_cursor *c = own_cursor();
    uint64_t count = team_loop.count, stride;
    if (c->next >= count)
        return false;
    *from = c->next;
    *to = chunk_end(*from, team_loop.chunk, count);
    if (__builtin_mul_overflow(team_loop.chunk, n, &stride) ||
        count - *from <= stride)
        stride = count - *from;
    c->next = *from + stride;
    return true;
}

/* The range that `schedule(static)` gives the thread. */
INLINE bool whole_next(uint32_t id, uint32_t n, uint64_t *from, uint64_t *to)
{
    uint64_t quotient = team_loop.count / n, longer = team_loop.count % n;
    uint64_t size = quotient + (id < longer);
    if (own_cursor()->next || !size)
        return false;
    own_cursor()->next = 1;
    *from = id * quotient + (id < longer ? id : longer);
    *to = *from + size - 1;
    return true;
}

INLINE bool team_next(uint32_t context, uint64_t *from, uint64_t *to)
{
    uint32_t n = context_threads(context);
    switch (teams_are_one() ? ALL : team_kind) {
    case ALL:
        return all_next(from, to);
    case DYNAMIC:
        return dynamic_next(from, to);
    case GUIDED:
        return guided_next(from, to);
    case TRAPEZOIDAL:
        return trapezoidal_next(from, to);
    case CHUNKED:
        return chunked_next(n, from, to);
    }
    return whole_next(context_thread(context), n, from, to);
}

/* ------------------------------------------------------- ordered regions */

INLINE uint64_t turn(void)
{
    return __scoped_atomic_load_n(&team_turn, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
}

/* The caller's iteration's turn comes when the iterations before are over, or
 * have had their ordered regions. */
static NOINLINE void await_turn(uint64_t iteration)
{
    while (turn() < iteration)
        plat_yield();
    plat_fence_team();
}
static NOINLINE void pass_turn(uint64_t iteration)
{
    plat_fence_team();
    if (turn() == iteration)
        __scoped_atomic_store_n(&team_turn, iteration + 1, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_WRKGRP);
}

/* Is the caller's loop an ordered one of several threads? */
INLINE bool in_ordered(uint32_t context)
{
    return !teams_are_one() && context_is_many(context) && team_ordered;
}

EXPORT void __kmpc_ordered(ident *loc, int32_t gtid)
{
    if (in_ordered(context_of(gtid)))
        await_turn(own_cursor()->at);
}
EXPORT void __kmpc_end_ordered(ident *loc, int32_t gtid)
{
    if (in_ordered(context_of(gtid)))
        pass_turn(own_cursor()->at);
}

/* After each iteration of an ordered loop: one without a region, too, lets the
 * next have its turn. */
INLINE void iteration_end(int32_t gtid)
{
    if (!in_ordered(context_of(gtid)))
        return;
    uint64_t at = own_cursor()->at++;
    if (turn() <= at) {
        await_turn(at);
        pass_turn(at);
    }
}

/* ------------------------------------------------------------- schedules */

/* The meaning of omp_set_schedule's setting for a loop. One for SIMD comes with
 * the vector's length, which chunks are multiples of. */
void omp_get_schedule(int32_t *kind, int32_t *chunk);
static NOINLINE int32_t runtime_schedule(int32_t schedule, uint64_t *chunk)
{
    int32_t kind, size;
    bool simd = schedule == RUNTIME_SIMD;
    uint64_t unit = simd && *chunk ? *chunk : 1;
    omp_get_schedule(&kind, &size);
    *chunk = size > 0 ? (uint64_t)size * unit : simd ? unit : 0;
    switch (kind & 0x7fffffff) {
    case SCHED_STATIC:
        if (simd && size <= 0)
            return STATIC_BALANCED_CHUNKED;
        return size > 0 ? STATIC_CHUNKED : STATIC;
    case SCHED_GUIDED:
        return GUIDED_CHUNKED;
    }
    return DYNAMIC_CHUNKED;
}

INLINE uint32_t kind_of(int32_t schedule, loop *l, uint32_t n)
{
    bool given = l->chunk != 0;
    if (!given)
        l->chunk = 1;
    if (l->chunk > THREAD_SHORT_CHUNK && l->chunk > l->count && l->count)
        l->chunk = l->count;
    switch (schedule) {
    case STATIC:
    case STATIC_GREEDY:
    case STATIC_BALANCED:
        return WHOLE;
    case STATIC_CHUNKED:
        return given ? CHUNKED : WHOLE;
    case STATIC_BALANCED_CHUNKED:
        l->chunk *= (l->count - 1) / n / l->chunk + 1;
        return CHUNKED;
    case GUIDED_CHUNKED:
    case GUIDED_ITERATIVE_CHUNKED:
    case GUIDED_ANALYTICAL_CHUNKED:
    case GUIDED_SIMD:
        return GUIDED;
    case TRAPEZOIDAL_CHUNKED:
        return TRAPEZOIDAL;
    }
    return DYNAMIC;
}

INLINE void loop_begin(int32_t gtid, int32_t schedule, loop l)
{
    uint32_t context = context_of(gtid), n = context_threads(context);
    if (!context_is_many(context)) {
        solo_begin(l.lower, l.count, l.step, l.final, context_level(context));
        return;
    }
    schedule &= ~SCHEDULE_MODIFIERS;
    if (schedule > NOMERGE_LOWER && schedule < NOMERGE_UPPER)
        schedule -= NOMERGE_LOWER - SCHEDULE_LOWER;
    bool ordered = schedule > ORDERED_LOWER && schedule < ORDERED_UPPER;
    if (ordered)
        schedule -= ORDERED_LOWER - SCHEDULE_LOWER;
    if (schedule == RUNTIME || schedule == RUNTIME_SIMD)
        schedule = runtime_schedule(schedule, &l.chunk);
    uint32_t kind = kind_of(schedule, &l, n);
    if (teams_are_one())
        team_begin(context, l, ALL, false);
    else
        team_begin(context, l, kind, ordered);
}

/* The loop the caller is in, and its next chunk. */
INLINE bool loop_next(int32_t gtid, loop *l, uint64_t *from, uint64_t *to)
{
    uint32_t context = context_of(gtid);
    if (!context_is_many(context)) {
        const loop *solo = solo_next(context_level(context));
        if (!solo)
            return false;
        *l = *solo;
        *from = 0;
        *to = l->count - 1;
        return true;
    }
    if (ompjit_use_cancel && ompjit_cancelled())
        return false; /* maybe nobody has described it */
    l->lower = team_loop.lower;
    l->step = team_loop.step;
    l->count = team_loop.count;
    l->final = team_loop.final;
    if (!team_next(context, from, to))
        return false;
    if (in_ordered(context))
        own_cursor()->at = *from;
    return true;
}

/* Makes *l the team's part of it: a range for each team. */
INLINE void distribute_loop(loop *l)
{
    uint32_t id = plat_team(), n = plat_teams();
    uint64_t quotient = l->count / n, longer = l->count % n;
    uint64_t first = id * quotient + (id < longer ? id : longer);
    uint64_t size = quotient + (id < longer);
    l->lower += first * (uint64_t)l->step;
    l->final = size && first + size == l->count;
    l->count = size;
}

/* Loops of one thread are the only ones with memory of their own. */
EXPORT void __kmpc_dispatch_deinit(ident *loc, int32_t gtid)
{
    uint32_t context = context_of(gtid);
    if (!context_is_many(context))
        solo_end(context_level(context));
}

#define T int32_t
#define U uint32_t
#define S int32_t
#define NAME(x) x##_4
#include "loop_dispatch.inc"

#define T uint32_t
#define U uint32_t
#define S int32_t
#define NAME(x) x##_4u
#include "loop_dispatch.inc"

#define T int64_t
#define U uint64_t
#define S int64_t
#define NAME(x) x##_8
#include "loop_dispatch.inc"

#define T uint64_t
#define U uint64_t
#define S int64_t
#define NAME(x) x##_8u
#include "loop_dispatch.inc"
