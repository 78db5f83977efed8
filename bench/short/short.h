/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Times of rounds of short kernels: the fastest round counts.
 */
#ifndef OMPJIT_BENCH_SHORT_H
#define OMPJIT_BENCH_SHORT_H

#include <stdio.h>
#include <time.h>

#ifndef ROUNDS
#define ROUNDS 40
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Microseconds a launch of a round's fastest run, and a sum of the results. */
static void tell(double best, int launches, double sum)
{
    printf("%.3f %.6g\n", best / launches, sum);
}
#endif
