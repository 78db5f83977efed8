/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * sizes BODY REST: loops of 10 to 10 million iterations, each as a target
 * region, as one of one team, and as the host's `parallel for`, turn by turn,
 * with REST milliseconds before each. Prints for each number of iterations the
 * medians in microseconds: chosen, one thread, all threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 10000000, SAMPLES = 2000 };

static float *x, *y;

/* About 60 ns, of which each needs the one before it. */
#pragma omp begin declare target
static float chain(float v)
{
    for (int i = 0; i < 16; i++)
        v = v * 0.999f + 0.5f / (v + 1.5f);
    return v;
}
#pragma omp end declare target

#define CHEAP y[i] += 2.5f * x[i]
#define DEAR y[i] = chain(x[i])
#define P(text) _Pragma(#text)
#define LOOPS(name, body)                                                      \
    static void name##_chosen(int n)                                           \
    {                                                                          \
        P(omp target teams distribute parallel for)                            \
        for (int i = 0; i < n; i++)                                            \
            body;                                                              \
    }                                                                          \
    static void name##_one(int n)                                              \
    {                                                                          \
        P(omp target teams distribute parallel for num_teams(1)                \
              thread_limit(1))                                                 \
        for (int i = 0; i < n; i++)                                            \
            body;                                                              \
    }                                                                          \
    static void name##_all(int n)                                              \
    {                                                                          \
        P(omp parallel for)                                                    \
        for (int i = 0; i < n; i++)                                            \
            body;                                                              \
    }

/* clang's own code has no better way to one thread. */
#ifndef NATIVE
#define CHOSEN(name) name##_chosen
#else
#define CHOSEN(name) name##_all
#endif

LOOPS(cheap, CHEAP)
LOOPS(dear, DEAR)

enum { CHOSEN_SIDE, ONE_SIDE, ALL_SIDE, SIDES };

static void rest(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* omp_get_wtime counts microseconds. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double once(void (*loop)(int), int n, int ms)
{
    if (ms)
        rest(ms);
    double start = now();
    loop(n);
    return now() - start;
}

static int order(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, order);
    return v[n / 2];
}

/* How many samples take a tenth of a second a side, or a few that rest. */
static int samples_of(double us, int ms)
{
    double n = 1e5 / (us + 1);
    return ms ? 9 : n < 7 ? 7 : n > SAMPLES ? SAMPLES : (int)n;
}

static void measure(void (*const loops[SIDES])(int), int n, int ms)
{
    static double took[SIDES][SAMPLES];
    double first = 0;
    for (int i = 0; i < 6; i++)
        for (int side = 0; side < SIDES; side++)
            first = once(loops[side], n, 0);
    int samples = samples_of(first, ms);
    /* Some of a side in a row, so that each meets its own threads awake. */
    int row = ms ? 1 : samples / 7;
    for (int done = 0; done < samples; done += row)
        for (int side = 0; side < SIDES; side++)
            for (int i = done; i < done + row && i < samples; i++)
                took[side][i] = once(loops[side], n, ms);
    printf("%d %.3f %.3f %.3f\n", n, median(took[CHOSEN_SIDE], samples),
           median(took[ONE_SIDE], samples), median(took[ALL_SIDE], samples));
}

int main(int argc, char **argv)
{
    static void (*const loops[2][SIDES])(int) = {
        {cheap_chosen, cheap_one, cheap_all},
        {dear_chosen, dear_one, dear_all}};
    int ms = argc == 3 ? atoi(argv[2]) : 0;
    if (argc != 3)
        return 2;
    x = calloc(MOST, sizeof *x);
    y = calloc(MOST, sizeof *y);
    for (int i = 0; i < MOST; i++)
        x[i] = (float)(i % 1000) * 0.001f;
    #pragma omp target enter data map(to : x[:MOST], y[:MOST])
    for (int n = 10; n <= MOST; n *= ms ? 100 : 10)
        measure(loops[!strcmp(argv[1], "dear")], n, ms);
    #pragma omp target exit data map(delete : x[:MOST], y[:MOST])
    return 0;
}
