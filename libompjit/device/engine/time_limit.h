/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Time limits of launches on one host device: a thread, made with the first
 * launch that has a limit, stops those that run too long (stop.h).
 */
#ifndef OMPJIT_HOST_LIMIT_H
#define OMPJIT_HOST_LIMIT_H

#include "device/engine/stop.h"
#include "ompjit.h"

typedef struct ompjit__host_limits ompjit__host_limits;

/* A launch that is limited; its launching thread's, from begin to end. */
typedef struct ompjit__host_limit {
    struct ompjit__host_limit *next;
    ompjit__host_watch *watch;
    uint64_t serial, deadline; /* ompjit__now's nanoseconds */
} ompjit__host_limit;

ompjit__host_limits *ompjit__limits_new(void);
void ompjit__limits_free(ompjit__host_limits *limits);

/* Limits the launch that w has: limit_ms from now on. */
ompjit_status ompjit__limit_begin(ompjit__host_limits *limits,
                                  ompjit__host_watch *w, uint32_t limit_ms,
                                  ompjit__host_limit *limit,
                                  ompjit_error *err);
void ompjit__limit_end(ompjit__host_limits *limits, ompjit__host_limit *limit);

#endif
