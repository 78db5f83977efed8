// expect: 4
// in shared memory: 5
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * setjmp comes back: what stands once in the program runs twice.
 */
#include <setjmp.h>
#include "sharing.h"

static jmp_buf again;
static double *last, *first;
static volatile int rounds;

static void begin(double *a)
{
    last = a;
    if (!first)
        first = a;
#pragma omp target enter data map(to : a[:N])
}

static void get(void)
{
    double *x = last;
#pragma omp target update from(x[:N])
}

int main(void)
{
    setjmp(again);
    double *a = (double *)malloc(N * sizeof *a);
    for (int i = 0; i < N; i++)
        a[i] = 4;
    begin(a);
    if (!rounds++)
        longjmp(again, 1);
    work(first);
    get();
    printf("%g\n", first[5]);
    return 0;
}
