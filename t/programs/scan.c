// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 0 wrong
// needs: libdevice
// not ahead of time: passes/loops/scan.c knows scans before clang optimizes them
// Scans by many threads of one, of few and of no iterations, and of more than fit
// in a window, where clang's buffer is a thread's own and where it is not.
#include <stdio.h>
#include <string.h>

enum { MOST = 2600 };

struct pair {
    long sum, count[3];
};
#pragma omp declare reduction(pairs : struct pair : omp_out.sum +=            \
                              omp_in.sum, omp_out.count[2] +=                 \
                              omp_in.count[2])                                \
    initializer(omp_priv = (struct pair){0})

#define ARGUMENTS int n, int threads, long *out, long *sum
#define INCLUSIVE                                                             \
    for (int i = 0; i < n; i++) {                                             \
        x += i * 7 % 5;                                                       \
        _Pragma("omp scan inclusive(x)") out[i] = x;                          \
    }

static void inclusive(ARGUMENTS)
{
    long x = *sum;
#pragma omp target map(tofrom : out[:MOST], x)
#pragma omp parallel for reduction(inscan, + : x) num_threads(threads)
    INCLUSIVE
    *sum = x;
}

#define EXCLUSIVE                                                             \
    for (int i = 0; i < n; i++) {                                             \
        out[i] = x + i * 7 % 5;                                               \
        _Pragma("omp scan exclusive(x)") x += i * 7 % 5;                      \
    }

static void exclusive(ARGUMENTS)
{
    long x = *sum;
#pragma omp target map(tofrom : out[:MOST], x)
#pragma omp parallel for reduction(inscan, + : x) num_threads(threads)
    EXCLUSIVE
    *sum = x;
}

static void in_region(ARGUMENTS)
{
    long x = *sum;
#pragma omp target map(tofrom : out[:MOST], x)
#pragma omp parallel num_threads(threads)
#pragma omp for reduction(inscan, + : x)
    INCLUSIVE
    *sum = x;
}

static void exclusive_in_region(ARGUMENTS)
{
    long x = *sum;
#pragma omp target map(tofrom : out[:MOST], x)
#pragma omp parallel num_threads(threads)
#pragma omp for reduction(inscan, + : x)
    EXCLUSIVE
    *sum = x;
}

static void simd(ARGUMENTS)
{
    long x = *sum;
#pragma omp target map(tofrom : out[:MOST], x)
#pragma omp parallel for simd reduction(inscan, + : x) num_threads(threads)
    INCLUSIVE
    *sum = x;
}

static void generic(ARGUMENTS)
{
    long x = *sum;
#pragma omp target map(tofrom : out[:MOST], x)
    {
        if (n > MOST)
            x = 77;
#pragma omp parallel for reduction(inscan, + : x) num_threads(threads)
        INCLUSIVE
    }
    *sum = x;
}

static void in_team(ARGUMENTS)
{
    long x = *sum;
#pragma omp target teams num_teams(1) map(tofrom : out[:MOST], x)
#pragma omp parallel for reduction(inscan, + : x) num_threads(threads)
    INCLUSIVE
    *sum = x;
}

static void structure(ARGUMENTS)
{
    struct pair x = {.sum = *sum};
    long one = *sum;
#pragma omp target map(tofrom : out[:MOST], x, one)
#pragma omp parallel for reduction(inscan, pairs : x) num_threads(threads)    \
    reduction(inscan, + : one)
    for (int i = 0; i < n; i++) {
        x.sum += i * 7 % 5;
        x.count[2] -= 1;
        one += 1;
#pragma omp scan inclusive(x, one)
        out[i] = x.sum + x.count[2] + one;
    }
    *sum = x.count[2] + one == (n > 0 ? 0 : *sum) ? x.sum : -1;
}

/* Not the sum, but the largest so far; with an operator that vectors have. */
static void largest(ARGUMENTS)
{
    double x = -1;
#pragma omp target map(tofrom : out[:MOST], x)
#pragma omp parallel for reduction(inscan, max : x) num_threads(threads)
    for (int i = 0; i < n; i++) {
        x = x > i * 7 % 1000 ? x : i * 7 % 1000;
#pragma omp scan inclusive(x)
        out[i] = x;
    }
    long sum_of = 0, most = -1, wrong = 0;
    for (int i = 0; i < n; i++) {
        most = most > i * 7 % 1000 ? most : i * 7 % 1000;
        wrong += out[i] != most;
        out[i] = sum_of += i * 7 % 5;
    }
    *sum = wrong || x != most ? -1 : n > 0 ? sum_of : *sum;
}

/* The number of iterations is a constant, and there is an operator that is a call. */
static void constant(ARGUMENTS)
{
    enum { N = 2500 };
    static long all[N];
    struct pair x = {0};
#pragma omp target map(from : all) map(x)
#pragma omp parallel for reduction(inscan, pairs : x) num_threads(threads)
    for (int i = 0; i < N; i++) {
        x.sum += i;
#pragma omp scan inclusive(x)
        all[i] = x.sum;
    }
    long wrong = x.sum != (long)N * (N - 1) / 2;
    for (long i = 0; i < N; i++)
        wrong += all[i] != i * (i + 1) / 2;
    inclusive(n, threads, out, sum);
    *sum -= wrong;
}

static int is_wrong(void (*scan)(ARGUMENTS), int n, int threads)
{
    static long out[MOST], expected[MOST];
    long sum = n > 0 ? 0 : 9, x = sum;
    memset(out, 0, sizeof out);
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < n; i++)
        expected[i] = x += i * 7 % 5;
    scan(n, threads, out, &sum);
    return sum != x || memcmp(out, expected, sizeof out) != 0;
}

int main(void)
{
    static void (*const scans[])(ARGUMENTS) = {
        inclusive, exclusive, in_region, exclusive_in_region,
        simd,      generic,   in_team,   structure,
        largest,   constant};
    static const int sizes[] = {-7, 0, 1, 2, 5, 64, 299, 2599};
    static const int threads[] = {1, 4, 33, 64};
    int wrong = 0;
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 8; k++)
            for (int j = 0; j < 4; j++)
                wrong += is_wrong(scans[i], sizes[k], threads[j]);
    printf("%d wrong\n", wrong);
}
