// expect: 0 0 1
// in shared memory: 1 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An exception leaves a function by a plain call, between a kernel and an
 * update: the handler finds what was there before the kernel.
 */
#include "sharing.h"

static void fail(int n)
{
    if (n)
        throw n;
}

static void step(double *a, int n)
{
    work(a);
    fail(n); /* leaves here: no invoke, since nothing is to be destroyed */
#pragma omp target update from(a[:N])
}

static void mapped(double *a, int n)
{
#pragma omp target enter data map(to : a[:N])
    work(a);
    fail(n);
#pragma omp target exit data map(from : a[:N])
}

int main(int argc, char **)
{
    double *a = field(), *b = field(), first = -1, second = -1;
#pragma omp target data map(tofrom : a[:N])
    {
        try {
            step(a, argc);
        } catch (int) {
            first = a[5];
        }
    }
    try {
        mapped(b, argc);
    } catch (int) {
        second = b[5];
    }
    printf("%g %g %g\n", first, second, a[5]);
}
