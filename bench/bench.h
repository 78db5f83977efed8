/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A clock, and the end at the first error, for all benchmark programs.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ompjit.h"

static ompjit_error err;

static inline void try(ompjit_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s: %s\n", ompjit_stage_name(err.stage), err.text);
    exit(1);
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* One sample for report.awk: group, name, side ("ours" or a peer), value. */
static inline void sample(const char *group, const char *name,
                          const char *side, double value, const char *unit)
{
    printf("%s\t%s\t%s\t%.6g\t%s\n", group, name, side, value, unit);
}
#endif
