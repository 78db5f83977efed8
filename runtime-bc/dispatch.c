/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops whose chunks threads fetch: dynamic, guided, runtime, auto, ordered.
 *
 * A team's loop is described in shared memory, and threads draw chunk numbers
 * from a counter; there is one at a time, since a loop begins with a barrier. A
 * loop of one thread, or with a static schedule that is only known here, is
 * described in memory of the thread's own, as threads can be in several.
 */
#include "loop.h"

/* `count` iterations, the first being `lower` in the loop's own type. */
typedef struct loop {
    uint64_t lower, count;
    int64_t step;
    uint64_t chunk;
} loop;

typedef struct solo_loop {
    loop l;
    uint64_t next;   /* first iteration of the next chunk */
    uint64_t stride; /* from chunk to chunk               */
    bool done;
    struct solo_loop *outer;
} solo_loop;

enum { TEAM_DYNAMIC, TEAM_GUIDED, TEAM_ORDERED, TEAM_STATIC };

static SHARED loop team_loop;
static SHARED uint32_t team_chunks, team_drawn; /* dynamic   */
static SHARED uint32_t team_kind;
static SHARED uint64_t team_next; /* guided: iteration */

/* The last iteration of the chunk at `from`. */
INLINE uint64_t chunk_end(uint64_t from, uint64_t chunk, uint64_t count)
{
    return (count - from < chunk ? count : from + chunk) - 1;
}

/* ---------------------------------------------------- loops of one thread */

static NOINLINE void solo_begin(const loop *l, uint32_t id, uint32_t n,
                                bool whole)
{
    thread_state *state = ompjit_thread_state();
    solo_loop *solo = state->loop;
    if (!solo || !solo->done) {
        solo = malloc(sizeof *solo);
        if (!solo)
            plat_fail("out of device memory for a dispatched loop");
        solo->outer = state->loop;
        state->loop = solo;
    }
    solo->l = *l;
    if (whole) {
        uint64_t quotient = l->count / n, longer = l->count % n;
        solo->l.chunk = quotient + (id < longer);
        solo->next = id * quotient + (id < longer ? id : longer);
        solo->stride = l->count;
        solo->done = !solo->l.chunk;
    } else {
        solo->done = __builtin_mul_overflow(id, l->chunk, &solo->next);
        if (__builtin_mul_overflow(n, l->chunk, &solo->stride))
            solo->stride = l->count;
    }
}

/* The loop's next chunk, as [*from, *to]; a loop that is over may be followed
 * by another without a call that says so, as clang before 19 does it. */
static NOINLINE bool solo_next(uint64_t *from, uint64_t *to)
{
    solo_loop *solo = ompjit_thread_state()->loop;
    uint64_t count = solo->l.count;
    if (solo->done || solo->next >= count) {
        solo->done = true;
        return false;
    }
    *from = solo->next;
    *to = chunk_end(*from, solo->l.chunk, count);
    bool over = count - *from <= solo->stride;
    solo->next = over ? count : *from + solo->stride;
    return true;
}

static void solo_end(void)
{
    thread_state *state = thread_state_if_any();
    if (!state || !state->loop)
        return;
    solo_loop *solo = state->loop;
    state->loop = solo->outer;
    free(solo);
}

/* ------------------------------------------------------- loops of a team */

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

/* Every thread of the team comes with the same loop. */
INLINE void team_begin(uint32_t context, loop l, uint32_t kind)
{
    context_barrier(context);
    if (context_thread(context) == 0) {
        if (kind == TEAM_DYNAMIC)
            begin_dynamic(&l);
        team_loop.lower = l.lower;
        team_loop.count = l.count;
        team_loop.step = l.step;
        team_loop.chunk = l.chunk;
        team_kind = kind;
        team_next = 0;
    }
    context_barrier(context);
}

/* The lanes that come here together draw their numbers at once. */
INLINE uint32_t draw(void)
{
    uint32_t lanes = plat_together(), first = 0;
    uint32_t below = lanes & ((1u << plat_lane()) - 1);
    if (!below)
        first = __scoped_atomic_fetch_add(
            &team_drawn, (uint32_t)__builtin_popcount(lanes), __ATOMIC_RELAXED,
            __MEMORY_SCOPE_WRKGRP);
    uint32_t leader = (uint32_t)__builtin_ctz(lanes);
    first = (uint32_t)plat_shuffle_from(lanes, (int32_t)first, leader);
    return first + (uint32_t)__builtin_popcount(below);
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

/* Half of what would be a fair share of the rest, the given chunk at least. */
static NOINLINE bool guided_next(uint32_t n, uint64_t *from, uint64_t *to)
{
    uint64_t count = team_loop.count, size;
    uint64_t at = __scoped_atomic_load_n(&team_next, __ATOMIC_RELAXED,
                                         __MEMORY_SCOPE_WRKGRP);
    do {
        if (at >= count)
            return false;
        size = (count - at) / (2 * n) + 1;
        if (size < team_loop.chunk)
            size = team_loop.chunk;
        if (size > count - at)
            size = count - at;
    } while (!__scoped_atomic_compare_exchange_n(
        &team_next, &at, at + size, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
        __MEMORY_SCOPE_WRKGRP));
    *from = at;
    *to = at + size - 1;
    return true;
}

/* All iterations in one thread, as their ordered regions come in order. */
INLINE bool ordered_next(uint32_t thread, uint64_t *from, uint64_t *to)
{
    if (thread != 0 || team_next || !team_loop.count)
        return false;
    team_next = 1;
    *from = 0;
    *to = team_loop.count - 1;
    return true;
}

/* ------------------------------------------------------------- schedules */

/* What the setting that omp_set_schedule changes means for a loop. */
void omp_get_schedule(int32_t *kind, int32_t *chunk);
static NOINLINE int32_t runtime_schedule(uint64_t *chunk)
{
    int32_t kind, size;
    omp_get_schedule(&kind, &size);
    *chunk = size > 0 ? (uint64_t)size : 0;
    switch (kind & 0x7fffffff) {
    case SCHED_STATIC:
        return size > 0 ? STATIC_CHUNKED : STATIC;
    case SCHED_GUIDED:
        return GUIDED_CHUNKED;
    }
    return DYNAMIC_CHUNKED;
}

INLINE void loop_begin(int32_t gtid, int32_t schedule, loop l)
{
    uint32_t context = context_of(gtid);
    bool ordered;
    schedule &= ~SCHEDULE_MODIFIERS;
    ordered = schedule >= ORDERED_FIRST && schedule <= ORDERED_LAST;
    if (!context_is_many(context)) {
        solo_begin(&l, 0, 1, true);
        return;
    }
    if (!ordered && (schedule == RUNTIME || schedule == RUNTIME_SIMD))
        schedule = runtime_schedule(&l.chunk);
    bool whole = schedule == STATIC || (schedule == STATIC_CHUNKED && !l.chunk);
    if (!l.chunk)
        l.chunk = 1;
    if (ordered) {
        team_begin(context, l, TEAM_ORDERED);
    } else if (schedule == STATIC || schedule == STATIC_CHUNKED) {
        team_begin(context, l, TEAM_STATIC);
        solo_begin(&l, context_thread(context), context_threads(context),
                   whole);
    } else if (schedule == GUIDED_CHUNKED || schedule == GUIDED_SIMD) {
        team_begin(context, l, TEAM_GUIDED);
    } else {
        team_begin(context, l, TEAM_DYNAMIC);
    }
}

/* The loop the caller is in, and its next chunk. */
INLINE bool loop_next(int32_t gtid, loop *l, uint64_t *from, uint64_t *to)
{
    uint32_t context = context_of(gtid);
    uint32_t kind = context_is_many(context) ? team_kind : TEAM_STATIC;
    if (kind == TEAM_STATIC) {
        bool more = solo_next(from, to);
        *l = ompjit_thread_state()->loop->l;
        return more;
    }
    l->lower = team_loop.lower;
    l->step = team_loop.step;
    l->count = team_loop.count;
    if (kind == TEAM_DYNAMIC)
        return dynamic_next(from, to);
    if (kind == TEAM_GUIDED)
        return guided_next(context_threads(context), from, to);
    return ordered_next(context_thread(context), from, to);
}

/* Loops of one thread, and static ones, are the only ones with memory. */
EXPORT void __kmpc_dispatch_deinit(ident *loc, int32_t gtid)
{
    if (!context_is_many(context_of(gtid)) || team_kind == TEAM_STATIC)
        solo_end();
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
