/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Schedules, and the arithmetic of dividing a loop, in iteration numbers: 0 to
 * `last`, so that a loop over a type's whole range does not overflow.
 */
#ifndef OMPJIT_RT_LOOP_H
#define OMPJIT_RT_LOOP_H

#include "rt.h"

/* kmp.h's enum sched_type. The modifiers say what order of chunks a thread may
 * see, and ours is always the strictest. Ordered and "nomerge" schedules have
 * the others' order, from their own _LOWER on. */
enum {
    SCHEDULE_LOWER = 32,
    STATIC_CHUNKED = 33,
    STATIC = 34,
    DYNAMIC_CHUNKED = 35,
    GUIDED_CHUNKED = 36,
    RUNTIME = 37,
    AUTO = 38,
    TRAPEZOIDAL_CHUNKED = 39,
    STATIC_GREEDY = 40,
    STATIC_BALANCED = 41,
    GUIDED_ITERATIVE_CHUNKED = 42,
    GUIDED_ANALYTICAL_CHUNKED = 43,
    STATIC_BALANCED_CHUNKED = 45,
    GUIDED_SIMD = 46,
    RUNTIME_SIMD = 47,
    ORDERED_LOWER = 64,
    ORDERED_UPPER = 72,
    DISTRIBUTE_CHUNKED = 91,
    DISTRIBUTE = 92,
    DISTRIBUTE_FOR_CHUNK_ONE = 93,
    DISTRIBUTE_ALL = 94, /* these two are ours, from passes/loops/schedule.c */
    STATIC_STRIDED = 95,
    NOMERGE_LOWER = 160,
    NOMERGE_UPPER = 200,
    SCHEDULE_MODIFIERS = 1 << 29 | 1 << 30
};


/* Up to here, a chunk for each is fewer iterations than any type counts. */
enum { THREAD_SHORT_CHUNK = 1 << 16, TEAM_SHORT_CHUNK = 1024 };

/* One of `n` that share a loop. */
typedef struct share {
    uint32_t id, n;
} share;

#endif
