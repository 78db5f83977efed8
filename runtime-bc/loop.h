/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Schedules, and the arithmetic of dividing a loop, in iteration numbers: 0 to
 * `last`, so that a loop over a type's whole range does not overflow.
 */
#ifndef OMPJIT_RT_LOOP_H
#define OMPJIT_RT_LOOP_H

#include "rt.h"

/* kmp.h's enum sched_type; the modifiers say what order of chunks a thread may
 * see, and ours is always the strictest. */
enum {
    STATIC_CHUNKED = 33,
    STATIC = 34,
    DYNAMIC_CHUNKED = 35,
    GUIDED_CHUNKED = 36,
    RUNTIME = 37,
    AUTO = 38,
    STATIC_BALANCED_CHUNKED = 45,
    GUIDED_SIMD = 46,
    RUNTIME_SIMD = 47,
    ORDERED_FIRST = 64,
    ORDERED_LAST = 70,
    DISTRIBUTE_CHUNKED = 91,
    DISTRIBUTE = 92,
    DISTRIBUTE_FOR_CHUNK_ONE = 93,
    SCHEDULE_MODIFIERS = 1 << 29 | 1 << 30
};

/* Up to here, the chunks of all threads are no more than any type holds. */
enum { SHORT_CHUNK = 1 << 16 };

/* One of `n` that share a loop. */
typedef struct share {
    uint32_t id, n;
} share;

#endif
