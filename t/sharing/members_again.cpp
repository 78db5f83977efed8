// expect: 4
// in shared memory: 5
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One allocation that runs twice is two objects, though one function has it.
 */
#include "sharing.h"

static double *last, *first;

static double *allocate()
{
    static double *made[2];
    for (int k = 0; k < 2; k++) {
        made[k] = (double *)malloc(N * sizeof(double));
        for (int i = 0; i < N; i++)
            made[k][i] = 4;
        if (!k)
            first = made[k];
        last = made[k];
    }
    return last;
}

static void begin()
{
    double *x = first;
#pragma omp target enter data map(to : x[:N])
    x = last;
#pragma omp target enter data map(to : x[:N])
}

static void get()
{
    double *x = last;
#pragma omp target update from(x[:N])
}

int main()
{
    allocate();
    begin();
    work(first);
    get();
    printf("%g\n", first[5]);
}
