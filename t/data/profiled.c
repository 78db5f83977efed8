/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Constructs one after another, from several threads, and deferred ones.
 */
#include <stdio.h>

enum { CHUNKS = 4, N = 200 };
static double x[CHUNKS][N];

static void twice(double *p)
{
#pragma omp target teams distribute parallel for map(tofrom : p[:N])
    for (int i = 0; i < N; i++)
        p[i] *= 2;
}

static void add(double *p)
{
#pragma omp target teams distribute parallel for nowait depend(inout : p[0]) \
    map(tofrom : p[:N])
    for (int i = 0; i < N; i++)
        p[i] += 1;
}

int main(void)
{
    double sum = 0;
    for (int c = 0; c < CHUNKS; c++)
        for (int i = 0; i < N; i++)
            x[c][i] = c;
#pragma omp parallel for num_threads(CHUNKS)
    for (int c = 0; c < CHUNKS; c++)
        twice(x[c]);
    for (int c = 0; c < CHUNKS; c++)
        for (int k = 0; k < 3; k++)
            add(x[c]);
#pragma omp taskwait
    for (int c = 0; c < CHUNKS; c++)
        for (int i = 0; i < N; i++)
            sum += x[c][i];
    printf("%g\n", sum);
}
