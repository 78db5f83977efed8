/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * construct ROUNDS SCALE: bench/gpu.c's constructs, as a program of its own for
 * another compiler and its runtime, LLVM's libomptarget. t/gpu/run compiles it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "two_arrays.c"

enum { REPEATS = 1000 };
static float x[256], y[256];

/* Microseconds of one of n constructs. */
static double timed(int n)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < n; i++)
        two(x, y);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((end.tv_sec - start.tv_sec) * 1e6 +
            (end.tv_nsec - start.tv_nsec) * 1e-3) / n;
}

static void measure(const char *name, int rounds, int n)
{
    for (int r = 0; r < rounds; r++)
        printf("construct\t%s\tlibomptarget\t%.6g\tus\n", name, timed(n));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 7;
    int n = REPEATS / (argc > 2 ? atoi(argv[2]) : 1);
    x[0] = 1;
    enter(x, y);
    two(x, y);
    measure("two arrays, present", rounds, n);
    leave(x, y);
    y[0] = 0;
    measure("two arrays, 1 KB each, mapped", rounds, n / 4 + 1);
    return y[0] != rounds * (n / 4 + 1);
}
